// @vitest-environment happy-dom
import { MantineProvider } from "@mantine/core"
import { cleanup, fireEvent, render, screen } from "@testing-library/react"
import { afterEach, expect, it } from "vitest"
import type { PeerLoad } from "@/client"
import { LoadTable, type Column } from "./LoadTable"

afterEach(cleanup)

const peer = (number: number, compute: number, node: string | null = null): PeerLoad => ({
  number, label: `worker-0/${number}`, node, at: null, compute, cpu: null, memory: null,
})

const columns: Column<{ label: string; peers: PeerLoad[] }>[] = [
  { head: "Clock", cell: () => "12" },
  { head: "Computes", cell: () => "mean", peerCell: ({ compute }) => String(compute) },
]

function rows(): string[] {
  return screen.getAllByRole("row").map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent).join("|"))
}

it("opens a worker that is a group into its processes", () => {
  const loads = [{ label: "worker-0", peers: [peer(0, 0.9), peer(1, 0.5)] }, { label: "worker-1", peers: [] }]
  render(<LoadTable name="Workers" loads={loads} columns={columns} processes={new Map()} />, { wrapper: MantineProvider })
  expect(rows().slice(1)).toEqual(["worker-0||12|mean|", "worker-1||12|mean|"])
  const toggle = screen.getByRole("button", { name: "Processes of worker-0" })
  expect(toggle.getAttribute("aria-expanded")).toBe("false")
  fireEvent.click(toggle)
  expect(rows().slice(1)).toEqual(["worker-0||12|mean|", "peer 0, the lead||0.9|", "peer 1||0.5|", "worker-1||12|mean|"])
  expect(toggle.getAttribute("aria-expanded")).toBe("true")
  expect(screen.queryByRole("button", { name: "Processes of worker-1" })).toBeNull()
})

it("names the machine of each process of a group on several machines", () => {
  const loads = [{ label: "worker-0", peers: [peer(0, 0.9, "ada"), peer(1, 0.5, "bob")] }]
  render(<LoadTable name="Workers" loads={loads} columns={columns} processes={new Map()} />, { wrapper: MantineProvider })
  fireEvent.click(screen.getByRole("button", { name: "Processes of worker-0" }))
  expect(rows().slice(2)).toEqual(["peer 0, the lead, on ada||0.9|", "peer 1 on bob||0.5|"])
})
