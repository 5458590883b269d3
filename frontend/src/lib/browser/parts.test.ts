// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, it, vi } from "vitest"

const HOUR_MS = 3_600_000
/** What the server answers when it is asked for the page; null: it cannot be reached. */
let served: string | null
let reloads: number
let { loadPart, preparePart } = await import("./parts")
const { settings } = (window as unknown as { happyDOM: { settings: { handleDisabledFileLoadingAsSuccess: boolean } } }).happyDOM
settings.handleDisabledFileLoadingAsSuccess = true // scripts are named here, not run

/** Opens the page in the version that is served. */
async function open() {
  document.head.innerHTML = page(served!)
  vi.resetModules()
  ;({ loadPart, preparePart } = await import("./parts"))
  await loadPart(() => Promise.resolve("the page that was opened"))
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

it("imports nothing while the server is away, however long: a browser would remember that it failed", async () => {
  served = null
  const load = vi.fn(() => Promise.resolve("part"))
  const part = loadPart(load, reload)
  await preparePart(load)
  await vi.advanceTimersByTimeAsync(HOUR_MS)
  expect(load).not.toHaveBeenCalled()
  served = "one"
  await vi.advanceTimersByTimeAsync(10_000)
  expect(await part).toBe("part")
  expect(reloads).toBe(0)
})

it("waits on where the server went away during the import", async () => {
  const load = vi.fn(() => {
    served = null
    return missing()
  })
  void loadPart(load, reload)
  await vi.advanceTimersByTimeAsync(HOUR_MS)
  expect(load).toHaveBeenCalledTimes(1)
  expect(reloads).toBe(0)
})

it("opens the page anew where the server has the part and the browser does not fetch it again", async () => {
  void loadPart(missing, reload)
  await vi.advanceTimersByTimeAsync(HOUR_MS)
  expect(reloads).toBe(1)
})

it("opens the page anew where an import does not end, and says so where that did not help", async () => {
  const pending = () => new Promise<never>(() => undefined)
  void loadPart(pending, reload)
  await vi.advanceTimersByTimeAsync(15_000)
  expect(reloads).toBe(0)
  await vi.advanceTimersByTimeAsync(10_000)
  expect(reloads).toBe(1)
  await open()
  const part = expect(loadPart(pending, reload)).rejects.toThrow("did not send a part of the page within 20 s")
  await vi.advanceTimersByTimeAsync(25_000)
  await part
  expect(reloads).toBe(1)
})

it("says what is wrong with a part that a page opened anew cannot have either", async () => {
  void loadPart(missing, reload)
  await vi.advanceTimersByTimeAsync(1000)
  await open()
  const part = expect(loadPart(missing, reload)).rejects.toThrow("Failed to fetch")
  await vi.advanceTimersByTimeAsync(10_000)
  await part
  expect(reloads).toBe(1)
})

it("asks the server nothing before the first import of a page that has just come", async () => {
  vi.resetModules()
  const { loadPart } = await import("./parts")
  const asked = vi.fn(() => Promise.resolve(new Response(page("one"))))
  vi.stubGlobal("fetch", asked)
  await loadPart(() => Promise.resolve("first"))
  expect(asked).not.toHaveBeenCalled()
  await Promise.all([loadPart(() => Promise.resolve("second")), loadPart(() => Promise.resolve("third"))])
  expect(asked).toHaveBeenCalledTimes(1)
  expect(asked).toHaveBeenCalledWith("/", expect.objectContaining({ headers: { Accept: "text/html" } })) // the server gives the page to nobody else
})

it("takes a part that was prepared, and asks the server nothing more", async () => {
  const load = vi.fn(() => Promise.resolve("part"))
  await preparePart(load)
  served = null
  expect(await loadPart(load, reload)).toBe("part")
  expect(load).toHaveBeenCalledTimes(1)
})

it("imports a part again that could not be prepared", async () => {
  const load = vi.fn(missing)
  await preparePart(load)
  load.mockImplementation(() => Promise.resolve("part") as never)
  const part = loadPart(load, reload)
  await vi.advanceTimersByTimeAsync(1000)
  expect(await part).toBe("part")
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
