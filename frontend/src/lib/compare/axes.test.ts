import { expect, it } from "vitest"
import { makeExchange, makeJob } from "@/lib/testing"
import { askedAxis, commonView, jobAxis, serverRange, withoutAxis } from "./axes"

const { progress, spec } = makeJob()
const job = makeJob({ started_at: "2026-01-10T12:00:00Z", progress: { ...progress, total_samples: 1000 }, spec: { ...spec, stop: { epochs: 4, never: false } } })
const START = Date.parse("2026-01-10T12:00:00Z") / 1000

it("brings jobs that began at different times onto one axis, and a visible range back to each", () => {
  const axis = jobAxis("time", job, null)!
  expect(axis.toCommon(START + 90)).toBe(90)
  expect(serverRange({ from: 10, to: 20 }, axis)).toEqual({ from: START + 10, to: START + 20 })
  expect(jobAxis("wall", job, null)!.toCommon(START)).toBe(START)
  expect(commonView("time").format(90)).toBe("1 min 30 s")
})

it("counts epochs where their length is known", () => {
  expect(jobAxis("epoch", job, null)!.toCommon(500)).toBe(2)
  expect(jobAxis("epoch", makeJob(), null)).toBeNull()
  expect(commonView("epoch").unit).toBe(1)
})

it("asks for times and shows what had been sent by then", () => {
  const axis = jobAxis("bytes", job, { x: [0, 10, 20], y: [0, 500, 500] })!
  expect([0, 5, 15].map(axis.toCommon)).toEqual([0, 250, 500])
  expect(axis.toServer(250)).toBe(5)
  expect(askedAxis("bytes")).toBe("time")
  expect(jobAxis("bytes", job, null)).toBeNull()
  expect(commonView("bytes").format(2_500_000)).toBe("2.5 MB")
  expect(serverRange({ from: 500, to: 900 }, axis)).toBeNull()
})

it("has no axis of bytes for a job that sent none, and says why", () => {
  expect(jobAxis("bytes", job, { x: [0, 10, 20], y: [0, 0, 0] })).toBeNull()
  const [none, unknown] = [{ ...progress, exchange: makeExchange({ sent_bytes: 0 }) }, { ...progress, exchange: null }]
  const jobs = [none, none, unknown].map((progress, index) => ({ job: { progress }, label: `job ${index}` }))
  const why = "all vectors went through shared memory, so no bytes were sent."
  expect(withoutAxis("bytes", jobs.slice(0, 2), 2)).toBe(`No curve over bytes sent: ${why}`)
  expect(withoutAxis("bytes", jobs, 4)).toBe(`No curve over bytes sent for job 0, job 1: ${why} No curve over bytes sent for job 2: the number of sent bytes is not known.`)
  expect(withoutAxis("epoch", jobs.slice(2), 3)).toBe("No curve over epochs for job 2: the length of an epoch is not known.")
  expect(withoutAxis("samples", [], 3)).toBe("")
})
