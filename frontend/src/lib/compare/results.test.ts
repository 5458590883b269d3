import { expect, it } from "vitest"
import { makeJob } from "@/lib/testing"
import { fieldsOf } from "./fields"
import type { Compared } from "./groups"
import { axesOf, resultsOf } from "./results"

const NOW = Date.parse("2026-01-10T12:01:00Z")

function compared(label: string, spec: object, accuracy?: number): Compared {
  const { progress } = makeJob()
  const job = makeJob({ name: label, progress: { ...progress, samples: 600, first_step_at: "2026-01-10T12:00:00Z", eval: accuracy === undefined ? {} : { accuracy } } })
  return { job, fields: fieldsOf(spec), label }
}

it("has an axis for each selected field and for each result that was measured", () => {
  const jobs = [compared("a", { lr: 0.1, gate: "asp" }, 0.9), compared("b", { lr: 0.2 })]
  const axes = axesOf(jobs, ["lr", "gate"], NOW)
  expect(axes.map(({ label, texts }) => `${label}: ${texts.join(" ")}`)).toEqual([
    "lr: 0.1 0.2", "gate: asp –", "Eval accuracy: 90.0 % –", "Time: 1 min 1 min", "Samples: 600 600", "Samples/s: 10 10",
  ])
  expect(axes[2]!.places).toEqual([0.5, null])
})

it("counts the time of a job from its first update to its end", () => {
  const [seconds] = resultsOf([]).filter(({ key }) => key === "seconds")
  const { job } = compared("a", {})
  expect(seconds!.of(job, NOW)).toBe(60)
  expect(seconds!.of({ ...job, ended_at: "2026-01-10T12:00:30Z" }, NOW)).toBe(30)
  expect(seconds!.of(makeJob(), NOW)).toBeNull()
})
