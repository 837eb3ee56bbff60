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
// A line without dots: the value of its point next to the pointer, from the axes.
const onLine = (svg, x, y) => {
  for (const plane of all('[data-x]', svg)) {
    const m = svg.getScreenCTM();
    if (!m) return '';
    const p = new DOMPoint(x, y).matrixTransform(m.inverse());
    const ax = plane.dataset.x.split(' ').map(Number), ay = plane.dataset.y.split(' ').map(Number);
    for (const lane of all('[data-top]', plane)) {
      const top = +lane.dataset.top;
      if (p.y < top || p.y > top + ay[0] + 5) continue;
      let best = null;
      for (const line of all('.curve', lane)) {
        let at = [0, 0];
        for (const s of line.getAttribute('d').match(/[Ml][^Ml]+/g) || []) {
          const n = s.slice(1).match(/-?[\d.]+/g).map(Number);
          at = s[0] === 'M' ? n : [at[0] + n[0], at[1] + n[1]];
          const d = Math.abs(at[0] - p.x) + Math.abs(at[1] - p.y) / 50;
          if (d < 12 && (!best || d < best[2])) best = [at[0], at[1], d];
        }
      }
      if (!best) continue;
      const value = (a, px) => a[2] + (px - a[0]) / (a[1] - a[0]) * (a[3] - a[2]);
      const short = v => String(+v.toPrecision(3));
      return short(value(ay, best[1] - top)) + ' at ' + short(value(ax, best[0]));
    }
  }
  return '';
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
    const text = onLine(svg, ev.clientX, ev.clientY);
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
    const keyed = rows.map((r, i) => {
      const c = r.cells.length > at && [...r.cells].every(x => x.colSpan === 1) ? r.cells[at].textContent.trim() : '';
      const n = number(c);
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
const csv = table => all('tr', table).filter(r => !r.hidden).map(r =>
  [...r.cells].flatMap(c => [cell(c), ...Array(c.colSpan - 1).fill('')]).join(',')).join('\r\n') + '\r\n';
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
  if (table.querySelectorAll('tbody tr:not(.group)').length > 1 && [...heads].every(h => h.colSpan === 1)) {
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
for (const r of all('#matrix-table tr[data-m]')) modes.set(r.dataset.m, r.cells[0].textContent.trim());
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
  const d = e && e.closest('details');
  if (d && !d.open) {
    d.open = true;
    e.scrollIntoView();
  }
};
addEventListener('hashchange', reveal);
reveal();
})();
