import { readFileSync } from "node:fs"
import { expect, it } from "vitest"
import { curl, firstSentence, reflowed, sections, type ApiDocument } from "./apiDocs"

const document = JSON.parse(readFileSync(new URL("../../../openapi.json", import.meta.url), "utf8")) as ApiDocument
const all = sections(document).flatMap(({ operations }) => operations)

it("shows every operation of the API once, with a sentence", () => {
  const count = Object.values(document.paths).reduce((sum, methods) => sum + Object.keys(methods).length, 0)
  expect(all).toHaveLength(count)
  expect(new Set(all.map(({ id }) => id)).size).toBe(count)
  expect(all.filter(({ description }) => description === "")).toEqual([])
})

it("says what goes in and what comes out", () => {
  const bulk = all.find(({ id }) => id === "changeJobs")!
  expect(bulk).toMatchObject({ method: "POST", path: "/api/v1/jobs/bulk", body: "Bulk (application/json)" })
  expect(bulk.answers[0]).toEqual({ status: "200", type: "BulkAnswer (application/json)" })
  const list = all.find(({ id }) => id === "listJobs")!
  expect(list.parameters.find(({ name }) => name === "status")).toMatchObject({ place: "query", required: false, type: "list of JobStatus or null" })
  expect(curl(bulk, "http://gradstream.localhost:8000")).toContain(" http://127.0.0.1:8000/api/v1/jobs/bulk")
  expect(curl(bulk, "http://here")).toBe(
    'curl -X POST -H "Authorization: Bearer $GRADSTREAM_TOKEN" -H "Content-Type: application/json" --data @body http://here/api/v1/jobs/bulk',
  )
})

it("joins lines that were broken for programs, and leaves lists and paragraphs as they are", () => {
  const description = "Everything about one job, as it\nhappens: `job`. Then it goes\non.\n\nSecond paragraph\n- one\n- two"
  expect(reflowed(description)).toBe("Everything about one job, as it happens: `job`. Then it goes on.\n\nSecond paragraph\n- one\n- two")
  expect(firstSentence(description)).toBe("Everything about one job, as it happens: `job`.")
  expect(firstSentence("Who is asking")).toBe("Who is asking")
})
