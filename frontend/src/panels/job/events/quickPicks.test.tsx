// @vitest-environment happy-dom
import { MantineProvider } from "@mantine/core"
import { act, cleanup, fireEvent, render, screen } from "@testing-library/react"
import { createBrowserRouter, RouterProvider } from "react-router"
import { afterEach, expect, it } from "vitest"
import type { JobEvent } from "@/client"
import { EventFilterBar } from "./EventFilterBar"

const KINDS = ["job.started", "job.ended", "checkpoint.committed"]
const EVENTS = KINDS.map((kind, seq) => ({ seq, kind, data: {}, message: kind })) as unknown as JobEvent[]

function show(address: string) {
  window.history.replaceState(null, "", address)
  const router = createBrowserRouter([{ path: "*", element: <EventFilterBar events={EVENTS} /> }])
  render(
    <MantineProvider env="test">
      <RouterProvider router={router} />
    </MantineProvider>,
  )
  act(() => screen.getAllByLabelText("Kind")[0]!.click())
}

/** Clicks options one after another, before the page is drawn anew. */
function pickAtOnce(...kinds: string[]) {
  const options = kinds.map((kind) => screen.getByRole("option", { name: new RegExp(kind), hidden: true }))
  act(() => options.forEach((option) => fireEvent.click(option)))
}

const picked = () => new URLSearchParams(window.location.search).getAll("kind")

afterEach(cleanup)

it("keeps both of two quick picks", () => {
  show("/")
  pickAtOnce("job.started", "checkpoint.committed")
  expect(picked()).toEqual(["job.started", "checkpoint.committed"])
})

it("keeps a quick pick beside a removal", () => {
  show("/?kind=job.started&kind=job.ended")
  pickAtOnce("job.started", "checkpoint.committed")
  expect(picked()).toEqual(["job.ended", "checkpoint.committed"])
  pickAtOnce("job.started")
  expect(picked()).toEqual(["job.ended", "checkpoint.committed", "job.started"])
})

it("removes all kinds at once, one that was picked just before among them", () => {
  show("/?kind=job.started")
  const clear = document.querySelector<HTMLElement>(".mantine-InputClearButton-root")!
  const option = screen.getByRole("option", { name: /job.ended/, hidden: true })
  act(() => {
    fireEvent.click(option)
    fireEvent.click(clear)
  })
  expect(picked()).toEqual([])
})
