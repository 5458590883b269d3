import { expect, it } from "vitest"
import { emptyColumns, insert } from "@/lib/charts/columns"
import { lonely, traceBand, traceColumns, traceMeans, type Pen, type Place } from "./trace"

const make = (...values: number[]) => {
  const columns = emptyColumns()
  values.forEach((value, x) => insert(columns, { x, first: value, low: value, high: value, last: value, mean: value, count: 1, odd: Number.isFinite(value) ? 0 : 1 }))
  return columns
}
const whole = (length: number, gap = Infinity): Place => ({ x: (x) => x * 10, y: (y) => 100 - y, from: 0, to: length - 1, gap })
const drawn = (draw: (pen: Pen) => void): string => {
  let path = ""
  draw({ moveTo: (x, y) => (path += `M${x},${y}`), lineTo: (x, y) => (path += `L${x},${y}`) })
  return path
}

it("draws a column from its first over its lowest and highest to its last", () => {
  const columns = make(1)
  insert(columns, { x: 1, first: 5, low: 2, high: 90, last: 6, mean: 5, count: 9, odd: 0 })
  expect(drawn((pen) => traceColumns(pen, columns, whole(2)))).toBe("M0,99L10,95L10,98L10,10L10,94")
})

it("breaks where nothing is finite, and where neighbours are far apart", () => {
  expect(drawn((pen) => traceColumns(pen, make(1, NaN, 3), whole(3)))).toBe("M0,99M20,97")
  expect(drawn((pen) => traceMeans(pen, make(1, 2), [1, 2], whole(2, 0.5)))).toBe("M0,99M10,98")
})

it("closes the envelope below", () => {
  const columns = { ...make(1, 2), high: [5, 6] }
  expect(drawn((pen) => traceBand(pen, columns, whole(2)))).toBe("M0,95L10,94L10,98L0,99")
})

it("finds the points that no line joins", () => {
  expect(lonely(make(1, NaN, 3, 4), whole(4))).toEqual([0])
  expect(lonely(make(7), whole(1))).toEqual([0])
})

it("goes on where a line ended, and gives the same as the line drawn at once", () => {
  const columns = make(1, 2, 3, 4)
  columns.high[1] = 9
  const added: Place = { ...whole(4), from: 1, goesOn: true }
  expect(drawn((pen) => traceColumns(pen, columns, added))).toBe("M10,98L20,97L30,96")
  expect(drawn((pen) => traceMeans(pen, columns, columns.mean, added))).toBe("M10,98L20,97L30,96")
  expect(drawn((pen) => traceBand(pen, columns, added))).toBe("M10,91L20,97L30,96L30,96L20,97L10,98")
})
