import { expect, it, vi } from "vitest"
import { gather } from "./gather"

it("makes one request of what is asked together, and another for other arguments", async () => {
  const load = vi.fn((names: string[], args: { x: string }) => Promise.resolve(names.map((name) => `${name} over ${args.x}`)))
  const ask = gather(load)
  const found = await Promise.all([ask("a", { x: "step" }), ask("b", { x: "step" }), ask("a", { x: "time" }), ask("a", { x: "step" })])
  expect(found).toEqual(["a over step", "b over step", "a over time", "a over step"])
  expect(load.mock.calls.map(([names]) => names)).toEqual([["a", "b"], ["a"]])
})

it("cuts what would let the first wait for the last", async () => {
  const load = vi.fn((names: string[]) => Promise.resolve(names))
  const ask = gather(load)
  const names = Array.from({ length: 20 }, (_, index) => `metric/${index}`)
  expect(await Promise.all(names.map((name) => ask(name, {})))).toEqual(names)
  expect(load).toHaveBeenCalledTimes(3)
})

it("tells all who asked when it fails, and asks anew the next time", async () => {
  const load = vi.fn<(names: string[]) => Promise<string[]>>().mockRejectedValueOnce(new Error("gone")).mockImplementation((names) => Promise.resolve(names))
  const ask = gather(load)
  await expect(Promise.all([ask("a", {}), ask("b", {})])).rejects.toThrow("gone")
  expect(await ask("a", {})).toBe("a")
})
