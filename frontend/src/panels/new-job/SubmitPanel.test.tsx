// @vitest-environment happy-dom
import { MantineProvider } from "@mantine/core"
import { cleanup, render, screen } from "@testing-library/react"
import { MemoryRouter } from "react-router"
import { afterEach, expect, it } from "vitest"
import type { NewJob } from "@/hooks/new-job/useNewJob"
import { SubmitPanel } from "./SubmitPanel"

const limit = { pointer: "/optimizer/momentum", message: "The total is 1.4. Set momentum_correction: true." }
const mistake = { pointer: "/strategy/window", message: "must be at least 1" }

function show(over: Partial<NewJob>) {
  const job = { draft: { error: null, text: "name: mine\n" }, hasCode: true, code: null, faults: [], warnings: [], notes: [], validation: {}, submission: {}, upload: {}, picked: null, ready: true, ...over } as unknown as NewJob
  render(
    <MantineProvider>
      <MemoryRouter>
        <SubmitPanel job={job} />
      </MemoryRouter>
    </MantineProvider>,
  )
}

afterEach(cleanup)

it("tells limits that a valid file is over, with their place, and lets it be submitted", () => {
  show({ warnings: [limit] })
  expect(screen.getByRole("status").textContent).toContain("1 warning")
  expect(screen.getByRole("listitem").textContent).toBe("optimizer.momentum The total is 1.4. Set momentum_correction: true.")
  expect(screen.getByRole("button", { name: "Submit" }).hasAttribute("disabled")).toBe(false)
})

it("is never green without code, and says what to do", () => {
  show({ hasCode: false, ready: false })
  expect(screen.getByRole("status").textContent).toBe("Select the folder with your code.")
  expect(screen.getByRole("button", { name: "Submit" }).hasAttribute("disabled")).toBe(true)
})

it("counts mistakes that stand at their lines, and tells those that have none", () => {
  const draft = { error: null, text: "strategy:\n  window: 0\n" } as NewJob["draft"]
  show({ draft, faults: [mistake, { pointer: "/stop", message: "missing; add it" }], ready: false })
  expect(screen.getByRole("status").textContent).toContain("2 errors to correct")
  expect(screen.getAllByRole("listitem").map((item) => item.textContent)).toEqual(["stop missing; add it"])
})

it("tells mistakes before anything else", () => {
  show({ faults: [mistake], warnings: [limit], ready: false })
  expect(screen.getAllByRole("listitem").map((item) => item.textContent)).toEqual(["strategy.window must be at least 1"])
  expect(screen.getByRole("button", { name: "Submit" }).hasAttribute("disabled")).toBe(true)
})
