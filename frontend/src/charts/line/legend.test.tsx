// @vitest-environment happy-dom
import { fireEvent, render, screen } from "@testing-library/react"
import { expect, it } from "vitest"
import { emptyColumns } from "@/lib/charts/columns"
import { toLines } from "@/lib/charts/lines"
import { Legend, type NextHidden } from "./Legend"

it("hides a line by what is hidden by then, not by what it shows", () => {
  const lines = toLines(["worker 0", "worker 1"].map((label, rank) => ({ source: label, rank, columns: emptyColumns(), total: 0, latest: null })), 0)
  let hidden: readonly string[] = ["elsewhere"]
  const onHide = (next: NextHidden) => (hidden = next(hidden))
  render(<Legend lines={lines} hidden={new Set(hidden)} at={null} range={null} scattered={false} formatX={String} formatY={String} onHide={onHide} scheme="light" />)
  for (const label of ["worker 0", "worker 1"]) fireEvent.click(screen.getByText(label))
  expect(hidden).toEqual(["elsewhere", "worker 0", "worker 1"])
})
