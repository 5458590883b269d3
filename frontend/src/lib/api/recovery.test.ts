// @vitest-environment happy-dom
import type { QueryState } from "@tanstack/react-query"
import { describe, expect, it } from "vitest"
import { Problem } from "@/client"
import { againAfter } from "./recovery"

function state(error: Error | null) {
  return { state: { status: error ? "error" : "success", error } as QueryState }
}

const NO_DATABASE = new Problem(503, "Service Unavailable", "The platform waits for the database.")

describe("a question that failed", () => {
  it("is asked again by itself if the platform may answer later", () => {
    expect(againAfter(false)(state(NO_DATABASE))).toBe(5000)
    expect(againAfter(() => false)(state(new TypeError("Failed to fetch")))).toBe(5000)
    expect(againAfter(2000)(state(NO_DATABASE))).toBe(2000)
  })

  it("is not asked again if it was refused, or answered", () => {
    expect(againAfter(false)(state(new Problem(404, "Not Found", "There is no such job.")))).toBe(false)
    expect(againAfter(false)(state(null))).toBe(false)
  })
})
