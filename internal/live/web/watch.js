"use strict";
(function () {
  var matrix = document.getElementById("matrix"), state = document.getElementById("state");
  var source = new EventSource(matrix.dataset.events);
  source.addEventListener("matrix", function (e) {
    matrix.replaceChildren(document.createRange().createContextualFragment(e.data));
    state.textContent = "under way";
  });
  source.addEventListener("trouble", function (e) { state.textContent = e.data; });
  source.addEventListener("ended", function () {
    source.close();
    location.reload();
  });
  source.onerror = function () {
    state.textContent = "the server does not answer; trying again";
    if (source.readyState === EventSource.CLOSED) setTimeout(function () { location.reload(); }, 2000); // it refused: a browser does not try again
  };
})();
