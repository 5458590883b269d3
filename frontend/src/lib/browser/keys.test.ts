// @vitest-environment happy-dom
import { beforeEach, expect, it } from "vitest"
import { KeyMap } from "./keys"

let map: KeyMap
let did: string[]

beforeEach(() => {
  localStorage.clear()
  document.body.innerHTML = "<input id=text /><button id=button></button><div role=dialog><a id=inside href='#'></a></div>"
  map = new KeyMap()
  did = []
  const bind = (...keys: string[]) => ({ keys, label: keys[0]!, run: () => did.push(keys[0]!) })
  map.add({ title: "Everywhere", bindings: [bind("?"), bind("g j"), bind("j"), bind("Enter", "o")] })
})

function press(key: string, target?: string, options: KeyboardEventInit = {}): boolean {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, ...options })
  Object.defineProperty(event, "target", { value: target ? document.querySelector(target) : document.body })
  return map.press(event)
}

it("runs what a key is bound to, also two one after the other", () => {
  expect([press("?"), press("g"), press("j"), press("j"), press("q")]).toEqual([true, false, true, true, false])
  expect(did).toEqual(["?", "g j", "j"])
})

it("leaves keys to those who type, to dialogs, to buttons and to the browser", () => {
  press("j", "#text")
  press("?", "#inside")
  press("Enter", "#button")
  press("j", undefined, { ctrlKey: true })
  expect(did).toEqual([])
  press("o", "#button")
  expect(did).toEqual(["Enter"])
})

it("lets the last that came have a key, until it goes", () => {
  const remove = map.add({ title: "Jobs", bindings: [{ keys: ["j"], label: "next", run: () => did.push("next") }] })
  press("j")
  remove()
  press("j")
  expect(did).toEqual(["next", "j"])
  expect(map.all().map(({ title }) => title)).toEqual(["Everywhere"])
})

it("knows no letters when they are switched off, but still other keys", () => {
  map.switchLetters(false)
  press("j")
  press("?")
  press("Enter")
  expect(did).toEqual(["Enter"])
  expect(new KeyMap().letters()).toBe(false)
})

it("lists keys that what has the focus hears itself, and leaves them to it", () => {
  map.add({ title: "Charts", bindings: [{ keys: ["0", "j"], label: "Show all" }] })
  expect([press("0"), press("j")]).toEqual([false, true])
  expect(did).toEqual(["j"])
  expect(map.all().at(-1)!.title).toBe("Charts")
})
