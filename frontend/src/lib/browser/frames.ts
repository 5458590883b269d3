/** As many as have changed are drawn within so many frames, */
const FRAMES = 4
/** but so many in each, since a frame costs something by itself. */
const TOGETHER = 12

const waiting = new Set<() => void>()
let frame = 0

/**
 * Calls `draw` in one of the next frames, in turn with whatever else is to be drawn, and once however often it is asked for until
 * then. So a page whose fifty charts change at the same moment has no frame that lasts as long as fifty charts.
 */
export function drawSoon(draw: () => void): void {
  waiting.add(draw)
  frame ||= requestAnimationFrame(() => drawSome(share()))
}

export function drawNever(draw: () => void): void {
  waiting.delete(draw)
}

function drawSome(most: number): void {
  frame = 0
  for (const draw of [...waiting].slice(0, most)) {
    waiting.delete(draw)
    draw()
  }
  if (waiting.size > 0) frame = requestAnimationFrame(() => drawSome(Math.max(most, share())))
}

function share(): number {
  return Math.max(TOGETHER, Math.ceil(waiting.size / FRAMES))
}
