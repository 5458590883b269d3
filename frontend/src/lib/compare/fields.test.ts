import { expect, it } from "vitest"
import { allPaths, configDifferences, differingPaths, fieldsOf, fieldText } from "./fields"

const easgd = { name: "one", strategy: { name: "easgd", alpha: 0.1, window: 4 }, roles: { worker: { count: 4 } }, env: {}, seed: 1 }
const sync = { name: "two", strategy: { name: "sync" }, roles: { worker: { count: 4 } }, env: {}, seed: 1, batch_size: 32 }
const jobs = [easgd, sync].map(fieldsOf)

it("gives each value of a job file a dotted path, and an empty part its own", () => {
  expect([...jobs[0]!]).toEqual([
    ["name", "one"], ["strategy.name", "easgd"], ["strategy.alpha", 0.1], ["strategy.window", 4], ["roles.worker.count", 4], ["env", {}], ["seed", 1],
  ])
})

it("finds the fields that differ, those that only some have among them, and leaves out names of jobs", () => {
  expect(differingPaths(jobs)).toEqual(["strategy.name", "strategy.alpha", "strategy.window", "batch_size"])
  expect(differingPaths([jobs[0]!])).toEqual([])
  expect(differingPaths([])).toEqual([])
  expect(allPaths(jobs)).toEqual(["strategy.name", "strategy.alpha", "strategy.window", "roles.worker.count", "env", "seed", "batch_size"])
})

it("tells lists and parts apart by what is in them", () => {
  const [a, b] = [{ betas: [0.9, 0.99], args: {} }, { betas: [0.9, 0.999], args: { hidden: 8 } }].map(fieldsOf)
  expect(differingPaths([a!, b!])).toEqual(["betas", "args", "args.hidden"])
})

it("compares jobs by the values they run with, not by what their files spell out", () => {
  const sync = {
    full: { strategy: { name: "sync" }, workload: { args: {} } },
    effective: { name: "one", strategy: { name: "sync" }, workload: { args: { hidden: 32 } }, gate: { mode: "bsp" } },
  }
  const free = {
    full: { strategy: { name: "sync" }, workload: { args: { hidden: 32 } }, gate: { mode: "asp", bound: 3, cohort: 1 } },
    effective: { name: "two", strategy: { name: "sync" }, workload: { args: { hidden: 32 } }, gate: { mode: "asp" } },
  }
  expect(configDifferences([sync, free])).toEqual([{ path: "gate.mode", values: ["bsp", "asp"] }])
  expect(configDifferences([sync, sync])).toEqual([])
})

it("writes any value in one line", () => {
  expect([undefined, null, "easgd", 0.1, false, [0.9, 0.99], {}].map(fieldText)).toEqual(["–", "–", "easgd", "0.1", "false", "[0.9, 0.99]", "{}"])
})
