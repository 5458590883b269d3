// Runs in each page before its own scripts. `watch` is what the benchmark asks afterwards.
// Canvases are read without a GPU, so reading one is a copy of memory.
const watch = {
  /** Frames since `count`, and the longest time between two of them. */
  frames: 0,
  longest: 0,
  /** When messages came that tell of the pulse: Date.now(). */
  heard: [],

  count() {
    watch.frames = watch.longest = 0
    let before = performance.now()
    const each = (now) => {
      watch.frames++
      watch.longest = Math.max(watch.longest, now - before)
      before = now
      requestAnimationFrame(each)
    }
    requestAnimationFrame(each)
  },

  /** Resolves with Date.now() of the frame that shows what came after `sent`; that is, of the first one in which the canvas
   *  looks different after a message was heard. */
  pulse(selector, sent) {
    return new Promise((resolve) => {
      let pixels = null
      const each = () => {
        const now = Date.now()
        const heard = watch.heard.find((at) => at >= sent)
        const found = hash(document.querySelector(selector))
        if (heard === undefined) pixels = found
        else if (found !== pixels) return resolve({ heard, drawn: now })
        requestAnimationFrame(each)
      }
      each()
    })
  },

  /** Resolves with performance.now() of the first frame for which `done` says yes. */
  until(done) {
    return new Promise((resolve) => {
      const each = () => (done() ? resolve(performance.now()) : requestAnimationFrame(each))
      each()
    })
  },

  /** The heading has this in it, and some canvas has a colour: axes and grid are grey. */
  charted(name) {
    return document.querySelector("h1")?.textContent.includes(name) && [...document.querySelectorAll("canvas")].some(coloured)
  },

  coloured,
}

function hash(canvas) {
  if (!canvas) return null
  const data = new Uint32Array(pixelsOf(canvas).buffer)
  let sum = 0
  for (let i = 0; i < data.length; i++) sum = (Math.imul(sum, 31) + data[i]) | 0
  return sum
}

function coloured(canvas) {
  const data = pixelsOf(canvas)
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] > 100 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 80) return true
  }
  return false
}

function pixelsOf(canvas) {
  const { width, height } = canvas
  return width && height ? canvas.getContext("2d").getImageData(0, 0, width, height).data : new Uint8ClampedArray(4)
}

window.EventSource = class extends EventSource {
  constructor(...given) {
    super(...given)
    this.addEventListener("metrics", ({ data }) => data.includes('"eval/pulse"') && watch.heard.push(Date.now()))
  }
}
window.watch = watch
