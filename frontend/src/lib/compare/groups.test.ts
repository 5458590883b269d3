import { expect, it } from "vitest"
import { makeJob } from "@/lib/testing"
import { fieldsOf } from "./fields"
import { groupBy, jobLabels, jobPlaces, type Compared } from "./groups"

const compared = (label: string, place: number, spec: object): Compared => ({ job: makeJob({ id: `0000000${place}-1`, name: label }), fields: fieldsOf(spec), label })
const jobs = [
  compared("a", 0, { strategy: { name: "sync" }, roles: { worker: { count: 2 } } }),
  compared("b", 1, { strategy: { name: "easgd" }, roles: { worker: { count: 4 } } }),
  compared("c", 2, { strategy: { name: "sync" }, roles: { worker: { count: 4 } } }),
]
const inWords = (field: string | null) => groupBy(jobs, field).map(({ label, index, jobs }) => `${index} ${label}: ${jobs.map(({ label }) => label).join(" ")}`)

it("draws each job alone, or with those that have the same value of a field", () => {
  expect(inWords(null)).toEqual(["0 a: a", "1 b: b", "2 c: c"])
  expect(inWords("strategy.name")).toEqual(["0 sync: a c", "1 easgd: b"])
  expect(inWords("roles.worker.count")).toEqual(["0 count 2: a", "1 count 4: b c"])
  expect(inWords("not.there")).toEqual(["0 there –: a b c"])
})

it("keeps a job's colour, whatever is compared with it, and gives no colour twice before all are used", () => {
  expect(jobPlaces(["0000000c-1", "00000005-1", "00000000-1"])).toEqual([0, 5, 1])
  expect(jobPlaces(["00000005-1"])).toEqual([5])
  const many = jobPlaces(Array.from({ length: 30 }, (_, at) => `${(at * 7919).toString(16).padStart(8, "0")}-1`))
  expect(new Set(many).size).toBe(30)
  expect(new Set(many.slice(0, 12).map((place) => place % 12)).size).toBe(12)
})

it("tells jobs of one name apart", () => {
  const [a, b] = ["aaaaaaaa-1", "bbbbbbbb-1"].map((id) => makeJob({ id, name: "digits" }))
  expect(jobLabels([a!, b!, makeJob({ name: "other" })])).toEqual(["digits aaaaaaaa", "digits bbbbbbbb", "other"])
})
