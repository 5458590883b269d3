import { beforeEach, expect, test, vi } from "vitest"
import { drawNever, drawSoon } from "./frames"

let asked: (() => void)[] = []

beforeEach(() => {
  asked = []
  vi.stubGlobal("requestAnimationFrame", (callback: () => void) => asked.push(callback))
})

function frame(): void {
  for (const callback of asked.splice(0)) callback()
}

test("what changes twice before a frame is drawn once", () => {
  const draw = vi.fn()
  drawSoon(draw)
  drawSoon(draw)
  expect(draw).not.toHaveBeenCalled()
  frame()
  expect(draw).toHaveBeenCalledTimes(1)
  expect(asked).toEqual([])
})

test("a few are drawn together, many are spread over four frames", () => {
  const few = Array.from({ length: 12 }, () => vi.fn())
  few.forEach(drawSoon)
  frame()
  for (const draw of few) expect(draw).toHaveBeenCalledTimes(1)

  const many = Array.from({ length: 80 }, () => vi.fn())
  many.forEach(drawSoon)
  frame()
  expect(many.filter((draw) => draw.mock.calls.length > 0)).toHaveLength(20)
  for (let more = 0; more < 3; more++) frame()
  for (const draw of many) expect(draw).toHaveBeenCalledTimes(1)
  expect(asked).toEqual([])
})

test("whoever changes again waits for its turn", () => {
  const order: string[] = []
  const eager = () => {
    order.push("eager")
    if (order.length === 1) drawSoon(eager)
  }
  const others = Array.from({ length: 12 }, (_, place) => () => void order.push(String(place)))
  ;[eager, ...others].forEach(drawSoon)
  frame()
  frame()
  expect(order).toEqual(["eager", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "eager"])
})

test("a chart that is gone is not drawn any more", () => {
  const draw = vi.fn()
  drawSoon(draw)
  drawNever(draw)
  frame()
  expect(draw).not.toHaveBeenCalled()
})

test("an error in one of them does not hold up the others for ever", () => {
  const others = Array.from({ length: 16 }, () => vi.fn())
  drawSoon(() => {
    throw new Error("this one cannot be drawn")
  })
  others.forEach(drawSoon)
  expect(frame).toThrow("this one cannot be drawn")
  drawSoon(others[0]!)
  frame()
  frame()
  for (const draw of others) expect(draw).toHaveBeenCalledTimes(1)
})
