import { expect, it } from "vitest"
import type { JobSummary } from "@/client"
import { makeJob } from "@/lib/testing"
import { JobNews } from "./jobNews"
import { listed, withChangedJob, withoutJobs, type JobPages } from "./jobPages"

const pages = (items: JobSummary[]): JobPages => ({
  pages: [{ items, next_cursor: null, total: items.length, read_at: "2026-01-10T12:30:00Z", asked: 0 }],
  pageParams: [null],
})
const shown = (data: JobPages) => listed(data).map(({ id, seq }) => `${id}${seq}`)

/** Everything that happens on the server, in its order: each job changes twice, and one of them is deleted. */
const STORY = "abcbacx".split("").map((id, at) => (id === "x" ? { gone: "b" } : { job: makeJob({ id, seq: at + 1 }) }))

function serverAfter(steps: number): JobSummary[] {
  const now = new Map("abc".split("").map((id) => [id, makeJob({ id, seq: 0 })]))
  for (const { job, gone } of STORY.slice(0, steps)) {
    if (job) now.set(job.id, job)
    else now.delete(gone)
  }
  return [...now.values()]
}

it("shows the latest state whenever the answer of a read was made, and whenever it comes", () => {
  for (let made = 0; made <= STORY.length; made++) {
    for (let came = made; came <= STORY.length; came++) {
      const news = new JobNews()
      let data = pages(serverAfter(0))
      STORY.forEach(({ job, gone }, at) => {
        if (at === came) data = news.into(pages(serverAfter(made)))
        if (job) news.changed(job)
        else news.deleted([gone])
        data = job ? withChangedJob(data, job) : withoutJobs(data, new Set([gone]))
      })
      if (came === STORY.length) data = news.into(pages(serverAfter(made)))
      expect(shown(data), `made after ${made}, came after ${came}`).toEqual(shown(pages(serverAfter(STORY.length))))
    }
  }
})

it("hears the same twice, or an old state late, without going back", () => {
  const news = new JobNews()
  for (const seq of [3, 5, 4, 5]) news.changed(makeJob({ id: "a", seq }))
  expect(shown(news.into(pages([makeJob({ id: "a", seq: 2 })])))).toEqual(["a5"])
  expect(shown(news.into(pages([makeJob({ id: "a", seq: 6 })])))).toEqual(["a6"])
})

it("leaves pages alone that say the same, and counts off who is gone", () => {
  const news = new JobNews()
  news.changed(makeJob({ id: "a", seq: 1 }))
  const read = pages([makeJob({ id: "a", seq: 1 }), makeJob({ id: "b" })])
  expect(news.into(read)).toBe(read)
  news.deleted(["b"])
  expect(news.into(read).pages[0]).toMatchObject({ total: 1 })
})

it("keeps the newest of what it hears, and no more than it needs", () => {
  const news = new JobNews()
  for (let at = 0; at < 5000; at++) news.changed(makeJob({ id: `${at}`, seq: 2 }))
  const read = pages([makeJob({ id: "0", seq: 1 }), makeJob({ id: "4999", seq: 1 })])
  expect(listed(news.into(read)).map(({ seq }) => seq)).toEqual([1, 2])
})
