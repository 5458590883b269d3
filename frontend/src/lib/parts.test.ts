// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, it, vi } from "vitest"

const HOUR_MS = 3_600_000
/** What the server answers when it is asked for the page; null: it cannot be reached. */
let served: string | null
let reloads: number
let { loadPart } = await import("./parts")
const { settings } = (window as unknown as { happyDOM: { settings: { handleDisabledFileLoadingAsSuccess: boolean } } }).happyDOM
settings.handleDisabledFileLoadingAsSuccess = true // scripts are named here, not run

/** Opens the page in the version that is served. */
async function open() {
  document.head.innerHTML = page(served!)
  vi.resetModules()
  ;({ loadPart } = await import("./parts"))
}
const page = (version: string) => `<script type="module" src="/assets/${version}.js"></script>`
const missing = () => Promise.reject(new TypeError("Failed to fetch dynamically imported module"))
const reload = () => {
  reloads++
}

beforeEach(async () => {
  vi.useFakeTimers()
  vi.stubGlobal("fetch", () => (served === null ? missing() : Promise.resolve(new Response(page(served)))))
  sessionStorage.clear()
  reloads = 0
  served = "one"
  await open()
})

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

it("waits for a server that is away, however long", async () => {
  served = null
  const load = vi.fn(() => (served === null ? missing() : Promise.resolve("part")))
  const part = loadPart(load, reload)
  await vi.advanceTimersByTimeAsync(HOUR_MS)
  expect(load.mock.calls.length).toBeLessThan(HOUR_MS / 5000)
  served = "one"
  await vi.advanceTimersByTimeAsync(10_000)
  expect(await part).toBe("part")
  expect(reloads).toBe(0)
})

it("says what is wrong with a part that the server has", async () => {
  const part = expect(loadPart(missing, reload)).rejects.toThrow("Failed to fetch")
  await vi.advanceTimersByTimeAsync(10_000)
  await part
  expect(reloads).toBe(0)
})

it("takes the new page of an upgraded server, once for each version", async () => {
  served = "two"
  void loadPart(missing, reload)
  await vi.advanceTimersByTimeAsync(HOUR_MS)
  expect(reloads).toBe(1)

  await open()
  served = "three"
  void loadPart(missing, reload)
  await vi.advanceTimersByTimeAsync(HOUR_MS)
  expect(reloads).toBe(2)
})

it("never reloads for ever, though it were given the old page again and again", async () => {
  for (let visit = 0; visit < 3; visit++) {
    served = "old"
    await open()
    served = "new"
    const part = loadPart(missing, reload)
    const said = visit > 0 && expect(part).rejects.toThrow("Failed to fetch")
    await vi.advanceTimersByTimeAsync(HOUR_MS)
    await said
  }
  expect(reloads).toBe(1)
})
