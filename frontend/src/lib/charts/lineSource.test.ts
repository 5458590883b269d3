import { expect, it } from "vitest"
import { LineSource } from "./lineSource"

it("tells who follows that there are other lines", () => {
  const source = new LineSource()
  let told = 0
  const stop = source.subscribe(() => (told += 1))
  source.set([])
  stop()
  source.set([])
  expect(told).toBe(1)
})
