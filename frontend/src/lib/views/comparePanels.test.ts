import { expect, it } from "vitest"
import { MOST_PANELS, movedPanel, panelsToAdd, readPanels, USUAL_PANELS, withoutPanel, withPanel, withSettings, writePanels } from "./comparePanels"

const ids = (text: string | null) => readPanels(text).map(({ id }) => id)

it("has the usual panels in every address that names none", () => {
  expect(ids(null)).toEqual(["curves", "target", "scatter", "parallel", "importance", "diff"])
  expect(writePanels(USUAL_PANELS)).toBe("")
})

it("reads what it writes, names with commas and tildes among them", () => {
  const panels = withPanel(withPanel(withPanel(readPanels("diff"), "curve", ["user/a,b~c"]), "plot", ["strategy.lr", "best", "x"]), "curve", ["train/loss"])
  expect(writePanels(panels)).toBe("diff,curve.1:user/a%2Cb%7Ec,plot.1:strategy.lr~best~x,curve.2:train/loss")
  expect(readPanels(writePanels(panels))).toEqual(panels)
})

it("leaves out what cannot be read, and every second of one kind", () => {
  expect(ids("moon,diff,curve.1:,curve.1,plot.1:a~b,plot.2:a~b~,diff,curve.0:x,curve.3:x")).toEqual(["diff", "plot.2", "curve.3"])
  expect(ids(Array.from({ length: 40 }, (_, index) => `curve.${index + 1}:x`).join(","))).toHaveLength(MOST_PANELS)
})

it("knows no panel from the usual ones", () => {
  expect(writePanels([])).toBe("none")
  expect(ids("none")).toEqual([])
})

it("adds a panel once, or with the least number that is free", () => {
  expect(withPanel(USUAL_PANELS, "diff")).toEqual(USUAL_PANELS)
  const two = readPanels("curve.1:a,curve.3:b")
  expect(withPanel(two, "curve", ["c"]).at(-1)).toEqual({ id: "curve.2", kind: "curve", of: ["c"] })
  expect(panelsToAdd(readPanels("diff,scatter"))).toEqual(["curves", "target", "parallel", "importance", "curve", "plot"])
})

it("moves, removes and changes one panel", () => {
  const three = readPanels("diff,curve.1:a,scatter")
  expect(writePanels(movedPanel(three, "scatter", "diff"))).toBe("scatter,diff,curve.1:a")
  expect(writePanels(movedPanel(three, "diff", "scatter"))).toBe("curve.1:a,scatter,diff")
  expect(movedPanel(three, "diff", "gone")).toEqual(three)
  expect(writePanels(withoutPanel(three, "diff"))).toBe("curve.1:a,scatter")
  expect(writePanels(withSettings(three, "curve.1", ["b"]))).toBe("diff,curve.1:b,scatter")
})
