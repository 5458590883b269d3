// @vitest-environment happy-dom
import { MantineProvider } from "@mantine/core"
import { cleanup, render, screen } from "@testing-library/react"
import { MemoryRouter } from "react-router"
import { afterEach, expect, it } from "vitest"
import type { NewJob } from "@/hooks/useNewJob"
import { SubmitPanel } from "./SubmitPanel"

const limit = { pointer: "/optimizer/momentum", message: "The total is 1.4. Set momentum_correction: true." }
const mistake = { pointer: "/strategy/window", message: "must be at least 1" }

function show(over: Partial<NewJob>) {
  const job = { draft: { error: null }, code: null, faults: [], warnings: [], notes: [], validation: {}, submission: {}, upload: {}, picked: null, ready: true, ...over } as unknown as NewJob
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
  expect(screen.getByRole("status").textContent).toContain("It is over a known limit")
  expect(screen.getByRole("listitem").textContent).toBe("optimizer.momentum The total is 1.4. Set momentum_correction: true.")
  expect(screen.getByRole("button", { name: "Submit" }).hasAttribute("disabled")).toBe(false)
})

it("tells mistakes before anything else", () => {
  show({ faults: [mistake], warnings: [limit], ready: false })
  expect(screen.getAllByRole("listitem").map((item) => item.textContent)).toEqual(["strategy.window must be at least 1"])
  expect(screen.getByRole("button", { name: "Submit" }).hasAttribute("disabled")).toBe(true)
})
