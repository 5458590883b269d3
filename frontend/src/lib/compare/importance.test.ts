import { expect, it } from "vitest"
import type { Importance, SettingImportance } from "@/client"
import { formatPercent } from "@/lib/format"
import { direction, figureField, figureName, leftOut, settingNames, verdict } from "./importance"
import type { RunField } from "./runs"

const field = (key: string, group: RunField["group"] = "Results"): RunField => ({ key, label: key, group, of: () => null, format: String })
const fields = [field("last"), field("best"), field("eval/loss"), field("seconds"), field("strategy.lr", "Settings")]
const found: Importance = { figure: "eval/loss", runs: 24, r2: 0.873, needed_r2: 0.31, believed: true, reason: null, settings: [], running: [], without: [], missing: [] }
const setting = (over: Partial<SettingImportance>): SettingImportance => ({ settings: ["a"], importance: 1, spread: 0, stands_out: true, correlation: null, levels: [], ...over })

it("explains the best value of the metric unless another result is selected", () => {
  expect(figureField(fields, null).key).toBe("best")
  expect(figureField(fields, "seconds").key).toBe("seconds")
  expect(figureField(fields, "strategy.lr").key).toBe("best")
  expect(figureField(fields.filter(({ key }) => key !== "best"), null).key).toBe("last")
})

it("asks for the metric by its name, from the better side", () => {
  expect(figureName(field("last"), { name: "eval/f1", better: "higher" })).toBe("eval/f1")
  expect(figureName(field("best"), { name: "eval/f1", better: "higher" })).toBe("max:eval/f1")
  expect(figureName(field("best"), { name: "eval/loss", better: "lower" })).toBe("min:eval/loss")
  expect(figureName(field("eval/loss"), { name: "eval/f1", better: "higher" })).toBe("eval/loss")
})

it("says how far the ranking can be believed, and who does not count", () => {
  expect(verdict(found)).toBe(`24 runs, out-of-bag R² 0.87: the settings predict ${formatPercent(0.873, 0)} of the variance.`)
  expect(verdict({ ...found, r2: 0.05, believed: false })).toContain("R² 0.05, which is below 0.31: chance could have ranked")
  expect(verdict({ ...found, r2: null, needed_r2: null })).toBeNull()
  expect(leftOut(found)).toBe("")
  expect(leftOut({ ...found, running: ["x"], without: ["y", "z"] })).toBe("Left out: 1 run has not ended, 2 runs have no finite value.")
})

it("says in which direction a setting works", () => {
  expect(direction(setting({ correlation: 0.951 }), String)).toBe("Rises with it (ρ +0.95)")
  expect(direction(setting({ correlation: -0.5 }), String)).toBe("Falls as it rises (ρ −0.50)")
  expect(direction(setting({ correlation: 0.02 }), String)).toBe("No trend (ρ +0.02)")
  expect(direction(setting({ levels: [{ value: "sync", runs: 3, mean: 1 }, { value: "async", runs: 2, mean: 2 }] }), String)).toBe("sync 1, async 2")
})

it("names settings that change together, the first before the others", () => {
  expect(settingNames(["a"])).toEqual(["a", ""])
  expect(settingNames(["a", "b"])).toEqual(["a", "changes together with b"])
  expect(settingNames(["a", "b", "c", "d", "e"])).toEqual(["a", "changes together with b, c, d and 1 other setting"])
})
