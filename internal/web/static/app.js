// The page works without this. It adds: fresh parts as things happen, keys,
// one submit per form, and buttons that copy.
(() => {
  'use strict';
  const $ = (q, in_ = document) => in_.querySelector(q);
  const $$ = (q, in_ = document) => [...in_.querySelectorAll(q)];

  // ---- Live parts: <… data-live="journal approvals" data-src="/path?part=x">
  const state = new WeakMap(); // element -> {timer, busy, again}

  async function refresh(el) {
    const st = state.get(el) || {};
    state.set(el, st);
    if (st.busy) { st.again = true; return; }
    st.busy = true;
    try {
      const res = await fetch(el.dataset.src, { headers: { 'X-Postroom-Part': '1' }, redirect: 'error' });
      if (res.status === 401) { location.reload(); return; }
      if (res.ok) put(el, await res.text());
    } catch { /* the server is away; the next event or reconnect asks again */ } finally {
      st.busy = false;
      if (st.again) { st.again = false; soon(el); }
    }
  }

  // put replaces what is in el and keeps focus, selection, scroll and open details.
  function put(el, html) {
    if (el.innerHTML === html || el.dataset.was === html) return;
    el.dataset.was = html;
    const at = document.activeElement;
    const keep = at && el.contains(at) ? mark(at) : null;
    if (keep && keep.typed) return; // somebody writes in here: leave it
    const open = $$('details[open][id]', el).map(d => d.id);
    const top = el.scrollTop, left = el.scrollLeft;
    const doc = new DOMParser().parseFromString(html, 'text/html');
    el.replaceChildren(...document.importNode(doc.body, true).childNodes);
    for (const id of open) { const d = document.getElementById(id); if (d) d.open = true; }
    el.scrollTop = top; el.scrollLeft = left;
    if (keep) { const again = find(el, keep); if (again) again.focus({ preventScroll: true }); }
    el.dispatchEvent(new CustomEvent('postroom:replaced', { bubbles: true }));
  }
  function mark(at) {
    const typed = at.matches('input:not([type=checkbox]):not([type=radio]), textarea, select');
    return { typed, id: at.id, href: at.getAttribute('href'), tag: at.tagName, name: at.getAttribute('name'), value: at.getAttribute('value') };
  }
  function find(el, m) {
    if (m.id) return document.getElementById(m.id);
    return $$(m.tag, el).find(x => x.getAttribute('href') === m.href && x.getAttribute('name') === m.name && x.getAttribute('value') === m.value);
  }
  function soon(el) {
    const st = state.get(el) || {};
    state.set(el, st);
    if (st.timer) return;
    const wait = performance.now() - (st.at || -1e9) > 400 ? 15 : 80; // at once after a quiet moment
    st.timer = setTimeout(() => { st.timer = 0; st.at = performance.now(); if (el.isConnected) refresh(el); }, wait);
  }
  function happened(name, detail) {
    for (const el of $$('[data-live]')) if (el.dataset.live.split(' ').includes(name)) soon(el);
    document.dispatchEvent(new CustomEvent('postroom:' + name, { detail }));
  }

  // A part that is not ready yet is asked for again: data-poll="1000", until what
  // comes has no progress in it.
  for (const el of $$('[data-poll]')) {
    const again = setInterval(() => {
      if (!$('progress', el)) clearInterval(again); else soon(el);
    }, Math.max(500, +el.dataset.poll));
  }

  let source, wait = 500, was = false, after = document.body.dataset.after || '';
  function everything() { for (const el of $$('[data-live]')) soon(el); }
  function connect() {
    if (source) source.close();
    source = new EventSource('/live' + (after ? '?after=' + after : ''));
    const note = $('[data-live-state]');
    source.onopen = () => {
      wait = 500;
      if (note) note.hidden = true;
      if (was || !after) everything();
      was = true;
    };
    source.onerror = () => {
      if (note && was) note.hidden = false;
      source.close(); // its own retry gives up on some answers; ours does not
      setTimeout(() => { if (!resting) connect(); }, wait);
      wait = Math.min(wait * 2, 10000);
    };
    for (const name of ['journal', 'approvals', 'presence', 'debts', 'health', 'reset', 'beat'])
      source.addEventListener(name, e => {
        after = e.lastEventId || after;
        if (name === 'beat') return;
        if (name === 'reset') { everything(); return; }
        let d = null;
        try { d = JSON.parse(e.data); } catch { /* a plain word */ }
        happened(name, d);
      });
  }
  // The tab says how many wait, also while it is not looked at.
  document.addEventListener('postroom:replaced', e => {
    if (!e.target.matches('.count')) return;
    const b = $('b', e.target);
    document.title = (b ? '(' + b.textContent + ') ' : '') + document.title.replace(/^\(\d+\) /, '');
  });

  // A browser has few connections to one server: of the tabs that nobody looks
  // at, one stays connected.
  let resting = false, keeper = false, rest = 0;
  document.addEventListener('visibilitychange', () => {
    clearTimeout(rest);
    if (document.hidden) rest = setTimeout(() => { if (!keeper && source) { resting = true; source.close(); } }, 60000);
    else if (resting) { resting = false; connect(); }
  });
  if (navigator.locks) navigator.locks.request('postroom-live', () => { keeper = true; return new Promise(() => {}); });

  addEventListener('pagehide', () => source && source.close());
  addEventListener('pageshow', e => { if (e.persisted) connect(); });
  if (window.EventSource) connect();

  // ---- Relative times go on
  const ages = [[31536000, 'y'], [86400, 'd'], [3600, 'h'], [60, 'm'], [1, 's']];
  function age(s) { for (const [n, u] of ages) if (s >= n) return Math.floor(s / n) + u; return 'now'; }
  setInterval(() => {
    for (const t of $$('time[datetime]')) {
      const s = (Date.now() - Date.parse(t.dateTime)) / 1000;
      if (!Number.isFinite(s)) continue;
      const words = s >= 1 ? age(s) + ' ago' : s <= -1 ? 'in ' + age(-s) : 'now';
      if (/ago$|^in |^now$/.test(t.textContent) && t.textContent !== words) t.textContent = words;
    }
  }, 10000);

  // ---- A form is sent once
  document.addEventListener('submit', e => {
    const form = e.target;
    if (form.method !== 'post') return;
    if (form.dataset.sent) { e.preventDefault(); return; }
    form.dataset.sent = '1';
    // Disabled after the submit, so that the pressed button's value is sent.
    setTimeout(() => $$('button', form).forEach(b => { b.disabled = true; }));
  });
  addEventListener('pageshow', e => {
    if (!e.persisted) return;
    for (const f of $$('form[data-sent]')) { delete f.dataset.sent; $$('button', f).forEach(b => { b.disabled = false; }); }
  });

  // ---- Copy: <button data-copy="text" hidden>
  function showCopies(in_) { for (const b of $$('[data-copy][hidden]', in_)) b.hidden = false; }
  if (navigator.clipboard) {
    showCopies(document);
    document.addEventListener('postroom:replaced', e => showCopies(e.target));
    document.addEventListener('click', async e => {
      const b = e.target.closest('[data-copy]');
      if (!b) return;
      try { await navigator.clipboard.writeText(b.dataset.copy); } catch { return; }
      const before = b.textContent;
      b.textContent = 'Copied';
      setTimeout(() => { b.textContent = before; }, 1500);
    });
  }

  // ---- Keys
  const keys = $('#keys');
  const keysButton = $('[data-keys]');
  if (keysButton) { keysButton.hidden = false; keysButton.addEventListener('click', () => keys.showModal()); }
  const go = { f: '/', i: '/inbox', t: '/threads', a: '/agents', d: '/debts', h: '/health', s: '/search' };
  let chord = 0;

  function move(step) {
    const rows = $$('main a.row, main [data-row]').filter(r => r.offsetParent);
    if (!rows.length) return;
    const i = rows.indexOf(document.activeElement);
    const to = rows[i < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, i + step))];
    to.focus();
    to.scrollIntoView({ block: 'nearest' });
  }

  document.addEventListener('keydown', e => {
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || (keys && keys.open)) return;
    const t = e.target;
    if (t.closest && t.closest('input:not([type=radio]):not([type=checkbox]), textarea, select, [contenteditable]')) {
      if (e.key === 'Escape') t.blur();
      return;
    }
    if (chord && e.key in go) { chord = 0; e.preventDefault(); location.href = go[e.key]; return; }
    chord = 0;
    switch (e.key) {
      case 'g': chord = 1; setTimeout(() => { chord = 0; }, 1500); break;
      case 'j': case 'ArrowDown': if (e.key === 'j') { e.preventDefault(); move(1); } break;
      case 'k': case 'ArrowUp': if (e.key === 'k') { e.preventDefault(); move(-1); } break;
      case 'c': e.preventDefault(); location.href = '/compose'; break;
      case 'u': { const up = $('[data-up]'); if (up) { e.preventDefault(); location.href = up.getAttribute('href'); } break; }
      case '/': { const f = $('main input[type=search]') || $('#find'); if (f && f.offsetParent) { e.preventDefault(); f.focus(); f.select(); } else { e.preventDefault(); location.href = '/search'; } break; }
      case '?': if (keys) { e.preventDefault(); keys.showModal(); } break;
      default:
        if (/^[1-9]$/.test(e.key)) {
          const b = $$('[data-option]')[+e.key - 1];
          if (b) { e.preventDefault(); b.focus(); b.scrollIntoView({ block: 'nearest' }); }
        }
    }
  });
})();
