// @vitest-environment happy-dom
import { cleanup, fireEvent, render, screen } from "@testing-library/react"
import { afterEach, expect, it } from "vitest"
import { emptyColumns } from "@/lib/charts/columns"
import { toLines } from "@/lib/charts/lines"
import { Legend, type NextHidden } from "./Legend"

afterEach(cleanup)

it("hides a line by what is hidden by then, not by what it shows", () => {
  const lines = toLines(["worker 0", "worker 1"].map((label, rank) => ({ source: label, rank, columns: emptyColumns(), total: 0, latest: null })), 0)
  let hidden: readonly string[] = ["elsewhere"]
  const onHide = (next: NextHidden) => (hidden = next(hidden))
  render(<Legend lines={lines} hidden={new Set(hidden)} at={null} range={null} binned={false} formatX={String} formatY={String} onHide={onHide} scheme="light" />)
  for (const label of ["worker 0", "worker 1"]) fireEvent.click(screen.getByText(label))
  expect(hidden).toEqual(["elsewhere", "worker 0", "worker 1"])
})

function legendOf(x: number[], y: number[], range: { from: number; to: number } | null, binned: boolean): string {
  const columns = emptyColumns()
  x.forEach((place, index) => {
    columns.x.push(place)
    for (const values of [columns.first, columns.mean, columns.last, columns.low, columns.high]) values.push(y[index]!)
    columns.count.push(1)
    columns.odd.push(0)
  })
  const lines = toLines([{ source: "worker 0", rank: 0, columns, total: x.length, latest: y.at(-1) ?? null }], 0)
  const { container } = render(<Legend lines={lines} hidden={new Set()} at={null} range={range} binned={binned} formatX={String} formatY={String} onHide={() => undefined} scheme="light" />)
  return container.textContent
}

it("says – where no point lies in the range: NaN is what diverges", () => {
  expect(legendOf([1, 9], [0.5, 0.25], { from: 3, to: 5 }, false)).toBe("worker 0–last in this range")
  expect(legendOf([1, 9], [0.5, 0.25], null, false)).toBe("worker 00.25latest")
})

it("counts the values of bins, of which none is the latest", () => {
  expect(legendOf([1, 9], [0.5, 0.25], null, true)).toBe("worker 02values")
})
