// What makes a report handier: values under the pointer, tables that sort and copy, a
// filter. Without it nothing is missing but that.
(() => {
'use strict';
const all = (sel, root = document) => [...root.querySelectorAll(sel)];
const make = (tag, cls, text) => {
  const e = document.createElement(tag);
  if (cls) e.className = cls;
  if (text) e.textContent = text;
  return e;
};
const button = (text, cls) => Object.assign(make('button', cls, text), {type: 'button'});
const said = Object.assign(make('p', 'said'), {role: 'status'});
document.body.append(said);

// Values under the pointer.
const tip = make('div', 'tip');
tip.setAttribute('aria-hidden', 'true');
document.body.append(tip);
let muted = null; // the title that the browser would show by itself
const hide = () => {
  tip.style.display = 'none';
  if (muted) muted[0].textContent = muted[1];
  muted = null;
};
const show = (text, x, y) => {
  tip.textContent = text;
  tip.style.display = 'block';
  const r = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - r.width - 4)) + 'px';
  tip.style.top = (y + r.height + 20 > innerHeight ? y - r.height - 10 : y + 14) + 'px';
};
const titleOf = e => [...e.children].find(c => c.tagName === 'title');
const nearest = (svg, x, y) => {
  let best = null, least = 196; // 14 pixels
  for (const e of all('path,rect', svg)) {
    const t = titleOf(e);
    if (!t) continue;
    const r = e.getBoundingClientRect();
    const dx = Math.max(r.left - x, 0, x - r.right), dy = Math.max(r.top - y, 0, y - r.bottom);
    const d = dx * dx + dy * dy;
    if (d < least) [best, least] = [t, d];
  }
  return best;
};
// A dot or a point of a line next to the pointer: its value, from the axes.
const axis = text => {
  const [p0, p1, lo, hi, kind] = text.split(' ');
  const short = v => String(+v.toPrecision(3));
  return px => {
    const f = (px - p0) / (p1 - p0), v = +lo + f * (hi - lo);
    switch (kind) {
    case 'log': return short(lo * (hi / lo) ** f);
    case 'percent': return (v < 0 ? '' : '+') + (v * 100).toFixed(1) + ' %';
    case 'tail': return ((1 - 10 ** -v) * 100).toFixed(Math.max(1, Math.ceil(v) - 1)) + ' %';
    case 'loss': return (v < 0.4 ? '0' : short(10 ** (v - 5.8 + 2))) + ' %';
    }
    return short(v);
  };
};
const dotsOf = path => [...path.getAttribute('d').matchAll(/M(-?[\d.]+) ?(-?[\d.]+)h0/g)].map(m => [+m[1], +m[2]]);
const pointsOf = path => {
  let at = [0, 0];
  return (path.getAttribute('d').match(/[Ml][^Ml]+/g) || []).map(s => {
    const n = s.slice(1).match(/-?[\d.]+/g).map(Number);
    return at = s[0] === 'M' ? n : [at[0] + n[0], at[1] + n[1]];
  });
};
const valueAt = (svg, x, y) => {
  const m = svg.getScreenCTM();
  if (!m) return '';
  const p = new DOMPoint(x, y).matrixTransform(m.inverse());
  let text = '', least = 12;
  for (const g of all('[data-x]', svg)) {
    const ax = axis(g.dataset.x), ay = g.dataset.y && axis(g.dataset.y);
    const told = (at, path, block) => {
      const lane = path.closest('[data-top]');
      const key = path.getAttribute('class').match(/ k(\d+)/);
      const head = +block ? 'block ' + block + ': ' : key ? String.fromCharCode(65 + +key[1]) + ': ' : '';
      return head + (ay ? ay(at[1] - (lane ? lane.dataset.top : 0)) + ' at ' : '') + ax(at[0]);
    };
    for (const path of all('[data-n]', g)) {
      const blocks = path.dataset.n.split(' ');
      dotsOf(path).forEach((at, i) => {
        const d = Math.hypot(at[0] - p.x, at[1] - p.y);
        if (d < least) [text, least] = [told(at, path, blocks[i]), d];
      });
    }
    if (text) continue;
    for (const lane of all('[data-top]', g)) {
      const top = +lane.dataset.top, foot = top + +g.dataset.y.split(' ')[0] + 5;
      if (p.y < top || p.y > foot || lane.querySelector('[data-n]')) continue;
      const tail = g.dataset.x.endsWith('tail');
      for (const path of all(tail ? '.curve[class*=" k"]' : '.curve:not([class*=" k"])', lane)) {
        for (const at of pointsOf(path)) {
          const d = Math.abs(at[0] - p.x) + Math.abs(at[1] - p.y) / (tail ? 1 : 50);
          if (d < least) [text, least] = [told(at, path, 0), d];
        }
      }
    }
  }
  return text;
};
for (const svg of all('svg.tare-chart')) {
  svg.addEventListener('pointermove', ev => {
    const t = nearest(svg, ev.clientX, ev.clientY);
    if (muted && muted[0] !== t) hide();
    if (t) {
      if (!muted) {
        muted = [t, t.textContent];
        t.textContent = '';
      }
      show(muted[1], ev.clientX, ev.clientY);
      return;
    }
    const text = valueAt(svg, ev.clientX, ev.clientY);
    if (text) show(text, ev.clientX, ev.clientY); else hide();
  });
  svg.addEventListener('pointerleave', hide);
}
addEventListener('scroll', hide, {passive: true});

// Tables that sort. A row that spans columns, and what is unknown, goes to the end.
const number = text => {
  const m = text.replace(/[\u00a0\u202f]/g, ' ').match(/^[^\d-]{0,3}(-?\d[\d.]*(?:e[+-]?\d+)?)/i);
  return m ? parseFloat(m[1]) : null;
};
const sort = (table, th, at) => {
  const down = th.getAttribute('aria-sort') === 'ascending';
  for (const o of all('thead th[aria-sort]', table)) o.removeAttribute('aria-sort');
  th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  for (const body of table.tBodies) {
    const rows = [...body.rows].filter(r => !r.classList.contains('group') && !r.classList.contains('sum'));
    const last = all('tr.sum', body);
    const changes = table.matches('.overview') && rows.some(r => r.cells[at]?.querySelector('i'));
    const none = rows.some(r => /\dx/.test(r.cells[at]?.textContent)) ? 1 : 0;
    const keyed = rows.map((r, i) => {
      const c = r.cells.length > at && [...r.cells].every(x => x.colSpan === 1) ? r.cells[at].textContent.trim() : '';
      // A baseline's own value is shown among changes: it is none.
      const n = changes && !r.cells[at].querySelector('i') ? none : number(c);
      return {r, i, n, text: c, none: c === '' || c === '-'};
    });
    keyed.sort((a, b) => {
      if (a.none || b.none) return a.none - b.none || a.i - b.i;
      const d = a.n !== null && b.n !== null ? a.n - b.n : a.text.localeCompare(b.text, 'en');
      return (down ? -d : d) || a.i - b.i;
    });
    body.append(...keyed.map(k => k.r), ...last);
  }
  said.textContent = 'Sorted by ' + th.textContent.trim() + ', ' + th.getAttribute('aria-sort');
};
// Tables as CSV.
const cell = c => {
  const parts = [];
  for (const n of c.childNodes) {
    const t = n.textContent.replace(/\s+/g, ' ').replace(/\u2011/g, '-').trim();
    if (t) parts.push(t);
  }
  let text = parts.join(' ');
  if (/^[=+@\t]/.test(text) && number(text) === null) text = "'" + text; // no formula in a spreadsheet
  return /[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
};
const csv = table => {
  let above = 0; // columns that a head of the line above reaches down into
  return all('tr', table).filter(r => !r.hidden).map(r => {
    const line = [...Array(above).fill(''), ...[...r.cells].flatMap(c => [cell(c), ...Array(c.colSpan - 1).fill('')])];
    above = [...r.cells].filter(c => c.rowSpan > 1).length;
    return line.join(',') + '\r\n';
  }).join('');
};
const copy = async text => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = Object.assign(make('textarea', 'said'), {value: text});
    document.body.append(area);
    area.select();
    const ok = document.execCommand('copy');
    area.remove();
    return ok;
  }
};
for (const table of all('main table')) {
  const heads = table.tHead && table.tHead.rows.length ? [...table.tHead.rows].at(-1).cells : [];
  if (heads.length && !table.matches('.facts, .claims') && table.querySelectorAll('tbody tr:not(.group)').length > 1 && [...heads].every(h => h.colSpan === 1)) {
    const lead = table.tBodies[0] && table.tHead.rows.length > 1 ? 1 : 0; // the first head spans both rows
    [...heads].forEach((th, i) => {
      const text = th.textContent.trim();
      if (!text) return;
      const b = button('', 'sort');
      if (th.querySelector('a')) b.setAttribute('aria-label', 'Sort by ' + text); // a link is no part of a button
      else b.append(...th.childNodes);
      th.append(b);
      b.addEventListener('click', () => sort(table, th, i + lead));
    });
  }
  const b = button('Copy as CSV', 'copy');
  const what = table.caption ? table.caption.textContent : '';
  if (what) b.setAttribute('aria-label', 'Copy as CSV: ' + what);
  b.addEventListener('click', async () => {
    const ok = await copy(csv(table));
    b.textContent = ok ? 'Copied' : 'Not copied';
    said.textContent = ok ? 'The table is copied as CSV' : 'The browser did not let the table be copied';
    setTimeout(() => { b.textContent = 'Copy as CSV'; }, 2000);
  });
  (table.closest('.scroll') || table).after(b);
}

// A filter by mode and workload: tables without the rows, charts with them faded.
const tools = document.getElementById('tools');
const modes = new Map();
for (const r of all('.overview tr[data-m]')) modes.set(r.dataset.m, r.cells[0].textContent.trim());
const works = new Map(all('section[data-w]').map(s => [s.dataset.w, s.querySelector('h2').textContent.trim()]));
const off = {m: new Set(), w: new Set()};
const apply = () => {
  for (const e of all('[data-m]')) {
    const out = off.m.has(e.dataset.m);
    if (e.tagName === 'TR' || e.tagName === 'LI' || e.tagName === 'ARTICLE') e.hidden = out; else e.classList.toggle('off', out);
  }
  for (const e of all('[data-w]')) e.hidden = off.w.has(e.dataset.w);
};
const choices = (title, from, kind) => {
  if (from.size < 2 || !tools) return;
  const set = make('fieldset');
  set.append(make('legend', '', title));
  for (const [id, name] of from) {
    const b = button(name, 'choice');
    b.setAttribute('aria-pressed', 'true');
    b.addEventListener('click', () => {
      const out = !off[kind].has(id);
      off[kind][out ? 'add' : 'delete'](id);
      b.setAttribute('aria-pressed', String(!out));
      apply();
      said.textContent = name + (out ? ' is hidden' : ' is shown');
    });
    set.append(b);
  }
  tools.append(set);
  tools.hidden = false;
};
choices('Modes', modes, 'm');
choices('Workloads', works, 'w');

// Print all of it, and open what a link leads into.
let shut = [];
addEventListener('beforeprint', () => {
  shut = all('details:not([open])');
  for (const d of shut) if (!d.classList.contains('trials')) d.open = true;
});
addEventListener('afterprint', () => { for (const d of shut) d.open = false; });
const reveal = () => {
  const e = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  let shut = false;
  for (let d = e && e.closest('details'); d; d = d.parentElement.closest('details')) {
    shut ||= !d.open;
    d.open = true;
  }
  if (shut) e.scrollIntoView();
};
addEventListener('hashchange', reveal);
reveal();
})();
