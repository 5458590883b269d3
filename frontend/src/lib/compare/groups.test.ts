import { expect, it } from "vitest"
import { makeJob } from "@/lib/testing"
import { fieldsOf } from "./fields"
import { groupBy, jobLabels, type Compared } from "./groups"

const compared = (label: string, spec: object): Compared => ({ job: makeJob({ name: label }), fields: fieldsOf(spec), label })
const jobs = [
  compared("a", { strategy: { name: "sync" }, roles: { worker: { count: 2 } } }),
  compared("b", { strategy: { name: "easgd" }, roles: { worker: { count: 4 } } }),
  compared("c", { strategy: { name: "sync" }, roles: { worker: { count: 4 } } }),
]
const inWords = (field: string | null) => groupBy(jobs, field).map(({ label, index, jobs }) => `${index} ${label}: ${jobs.map(({ label }) => label).join(" ")}`)

it("draws each job alone, or with those that have the same value of a field", () => {
  expect(inWords(null)).toEqual(["0 a: a", "1 b: b", "2 c: c"])
  expect(inWords("strategy.name")).toEqual(["0 sync: a c", "1 easgd: b"])
  expect(inWords("roles.worker.count")).toEqual(["0 count 2: a", "1 count 4: b c"])
  expect(inWords("not.there")).toEqual(["0 there –: a b c"])
})

it("tells jobs of one name apart", () => {
  const [a, b] = ["aaaaaaaa-1", "bbbbbbbb-1"].map((id) => makeJob({ id, name: "digits" }))
  expect(jobLabels([a!, b!, makeJob({ name: "other" })])).toEqual(["digits aaaaaaaa", "digits bbbbbbbb", "other"])
})
