// @vitest-environment happy-dom
import { MantineProvider } from "@mantine/core"
import { cleanup, fireEvent, render, screen } from "@testing-library/react"
import { MemoryRouter } from "react-router"
import { afterEach, expect, it, vi } from "vitest"
import type { NewJob } from "@/hooks/new-job/useNewJob"
import { readSchema } from "@/lib/job-file/schema"
import { SubmitPanel } from "./SubmitPanel"

const limit = { pointer: "/optimizer/momentum", message: "The total is 1.4. Set momentum_correction: true." }
const fields = readSchema({
  properties: {
    strategy: { properties: { window: { type: "integer" } } },
    optimizer: { properties: { momentum: { type: "number" } } },
    stop: { properties: { epochs: { type: "integer" } } },
    version: { const: 1 },
  },
})
const went = vi.fn()
const mistake = { pointer: "/strategy/window", message: "must be at least 1" }

function show(over: Partial<NewJob>) {
  const job = { draft: { error: null, text: "name: mine\n" }, hasCode: true, code: null, faults: [], warnings: [], notes: [], validation: {}, submission: {}, upload: {}, picked: null, ready: true, typedIn: "form", ...over } as unknown as NewJob
  render(
    <MantineProvider>
      <MemoryRouter>
        <SubmitPanel job={job} fields={fields} onGo={went} />
      </MemoryRouter>
    </MantineProvider>,
  )
}

afterEach(cleanup)

const items = () => screen.queryAllByRole("listitem").map((item) => item.textContent)

it("counts limits that a valid file is over, leads to their fields, and lets it be submitted", () => {
  show({ warnings: [limit] })
  expect(screen.getByRole("status").textContent).toContain("1 warning")
  expect(items()).toEqual(["optimizer.momentum"])
  fireEvent.click(screen.getByRole("button", { name: "optimizer.momentum" }))
  expect(went).toHaveBeenCalledWith("/optimizer/momentum")
  expect(screen.getByRole("button", { name: "Submit" }).hasAttribute("disabled")).toBe(false)
})

it("is never green without code, and says what to do", () => {
  show({ hasCode: false, ready: false })
  expect(screen.getByRole("status").textContent).toBe("Select the folder with your code.")
  expect(screen.getByRole("button", { name: "Submit" }).hasAttribute("disabled")).toBe(true)
})

it("is never green beside a refusal", () => {
  show({ submission: { error: new Error("Too many jobs") } as NewJob["submission"] })
  expect(screen.getByRole("status").textContent.trim()).toBe("Too many jobs")
})

it("has the words of mistakes only where no field or no line has them", () => {
  const draft = { error: null, text: "strategy:\n  window: 0\n" } as NewJob["draft"]
  const faults = [mistake, { pointer: "/version", message: "must be 1" }, { pointer: "/stop", message: "missing; add it" }]
  show({ draft, faults, ready: false })
  expect(screen.getByRole("status").textContent).toContain("3 errors to correct")
  expect(items()).toEqual(["strategy.window", "stop", "version must be 1"])
  cleanup()
  show({ draft, faults, ready: false, typedIn: "text" })
  expect(items()).toEqual(["strategy.window (line 2)", "version must be 1", "stop missing; add it"])
})

it("leads to the line of a file that cannot be read, which has the words", () => {
  show({ draft: { error: "Flow sequence must end with a ]", errorLine: 2, text: "name: mine\nseed: [\n" } as NewJob["draft"], ready: false, typedIn: "text" })
  expect(screen.getByRole("status").textContent).toBe(" 1 error to correctLine 2")
  fireEvent.click(screen.getByRole("button", { name: "Line 2" }))
  expect(went).toHaveBeenLastCalledWith("")
})

it("leads to mistakes before anything else", () => {
  show({ faults: [mistake], warnings: [limit], ready: false })
  expect(items()).toEqual(["strategy.window"])
  expect(screen.getByRole("button", { name: "Submit" }).hasAttribute("disabled")).toBe(true)
})
