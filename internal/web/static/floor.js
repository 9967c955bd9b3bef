// Mail is seen moving between the desks as it is delivered. Nothing here is
// needed to read the floor.
(() => {
  'use strict';
  const most = 10; // letters under way at once; in a storm the others are only counted
  let flying = 0;
  const still = matchMedia('(prefers-reduced-motion: reduce)');
  const desk = name => name && document.querySelector('[data-desk="' + CSS.escape(name) + '"]');

  const air = document.createElement('div');
  air.className = 'air';
  air.setAttribute('aria-hidden', 'true');
  document.body.append(air);

  function middle(el) {
    const r = el.getBoundingClientRect();
    return { x: r.left + r.width / 2, y: r.top + Math.min(r.height / 2, 40) };
  }
  function inSight(el) {
    const r = el.getBoundingClientRect();
    return r.bottom > 0 && r.top < innerHeight;
  }

  // glow marks the desk that got something, above the part that is replaced.
  function glow(el) {
    const r = el.getBoundingClientRect();
    const ring = document.createElement('div');
    ring.className = 'glow';
    ring.style.left = r.left + 'px';
    ring.style.top = r.top + 'px';
    ring.style.width = r.width + 'px';
    ring.style.height = r.height + 'px';
    air.append(ring);
    if (still.matches) { setTimeout(() => ring.remove(), 1200); return; }
    ring.animate([{ opacity: 1 }, { opacity: 0 }], { duration: 900, easing: 'ease-out' }).finished.then(() => ring.remove(), () => ring.remove());
  }

  function letter(from, to) {
    if (still.matches || !from || flying >= most || !inSight(from) && !inSight(to)) { glow(to); return; }
    flying++;
    const a = middle(from), b = middle(to);
    const el = document.createElement('div');
    el.className = 'letter';
    el.innerHTML = '<svg class="icon"><use href="/static/icons.svg#post"></use></svg>';
    air.append(el);
    const lift = Math.min(90, 20 + Math.hypot(b.x - a.x, b.y - a.y) / 6);
    const at = (x, y, s) => 'translate(' + x + 'px,' + y + 'px) translate(-50%,-50%) scale(' + s + ')';
    const path = [];
    for (let i = 0; i <= 12; i++) {
      const t = i / 12;
      path.push({
        transform: at(a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t - lift * 4 * t * (1 - t), .8 + .4 * Math.sin(Math.PI * t)),
        opacity: t < .1 ? t * 10 : 1,
      });
    }
    const done = () => { flying--; el.remove(); if (to.isConnected || (to = desk(to.dataset.desk))) glow(to); };
    el.animate(path, { duration: 650, easing: 'cubic-bezier(.4,0,.3,1)' }).finished.then(done, done);
  }

  // Who is pointed at in the lists is shown at their desks.
  function pointed(e) {
    const p = e.target.closest && e.target.closest('[data-pair]');
    for (const d of document.querySelectorAll('.desk.pointed')) d.classList.remove('pointed');
    if (p) for (const name of p.dataset.pair.split(' ')) { const d = desk(name); if (d) d.classList.add('pointed'); }
  }
  for (const on of ['pointerover', 'focusin']) document.addEventListener(on, pointed);

  document.addEventListener('postroom:journal', e => {
    const m = e.detail;
    if (!m || document.hidden) return;
    if (m.event === 'delivered' || m.event === 'escalated') {
      const to = desk(m.event === 'escalated' ? 'human' : m.to);
      if (to) letter(desk(m.from), to);
    }
  });
})();
