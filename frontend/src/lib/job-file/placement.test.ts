import { expect, test } from "vitest"
import type { Plan } from "@/client"
import { memoryOf, processesOf } from "./placement"

const process = (role: Plan["start"]["processes"][number]["role"], rank: number, gpu: number | null = null, gpu_share = 1) => ({ role, rank, gpus: gpu === null ? [] : [gpu], gpu_share, node: "rack-0", label: role === "evaluator" ? role : `${role}-${rank}` })
const eight = [0, 1, 2, 3, 4, 5, 6, 7]

test("a run of ranks is written by its ends, with GPUs and without", () => {
  expect(processesOf([process("server", 0), ...eight.map((rank) => process("worker", rank)), process("evaluator", 0)])).toBe("server-0, worker-0 … worker-7, evaluator")
  expect(processesOf(eight.map((rank) => process("worker", rank + 8, rank)))).toBe("worker-8 … worker-15 (GPUs 0 … 7)")
  expect(processesOf([process("worker", 0, 0), process("worker", 1, 1)])).toBe("worker-0 (GPU 0), worker-1 (GPU 1)")
})

test("no run goes over a gap in ranks or GPUs, or over both kinds of devices", () => {
  expect(processesOf([0, 5, 10].map((rank) => process("server", rank)))).toBe("server-0, server-5, server-10")
  expect(processesOf([process("worker", 0, 0), process("worker", 1, 2), process("worker", 2, 4)])).toBe("worker-0 (GPU 0), worker-1 (GPU 2), worker-2 (GPU 4)")
  expect(processesOf([process("worker", 0, 0), process("worker", 1), process("worker", 2)])).toBe("worker-0 (GPU 0), worker-1, worker-2")
})

test("workers that share a GPU are named one by one", () => {
  expect(processesOf([0, 1, 2, 3].map((rank) => process("worker", rank, rank < 2 ? 0 : rank - 1, 2)))).toBe("worker-0 (1/2 of GPU 0), worker-1 (1/2 of GPU 0), worker-2 (1/2 of GPU 1), worker-3 (1/2 of GPU 2)")
})

test("machines and GPUs with the same amounts share a sentence", () => {
  const host = (node: string, needed: number) => ({ node, gpu: null, role: null, needed, total: 64e9 })
  const gpu = (node: string, index: number) => ({ node, gpu: index, role: "worker" as const, needed: 12e6, total: 80e9 })
  const nodes = ["rack-1", "rack-2"].flatMap((node) => [host(node, 128e6), ...eight.map((index) => gpu(node, index))])
  expect(memoryOf([host("rack-0", 152e6), ...nodes])).toBe("rack-0: 152 MB of 64 GB. rack-1, rack-2: 128 MB of 64 GB each. 16 GPUs of rack-1, rack-2 (worker): 12 MB of 80 GB each.")
  expect(memoryOf([gpu("rack-0", 3)])).toBe("rack-0, GPU 3 (worker): 12 MB of 80 GB.")
  expect(memoryOf([])).toBe("")
})

test("a shard and a worker on one GPU have a sentence each", () => {
  const share = (role: "server" | "worker") => ({ node: "rack-0", gpu: 0, role, needed: 12e6, total: 40e9 })
  expect(memoryOf([share("server"), share("worker")])).toBe("rack-0, GPU 0 (server): 12 MB of 40 GB. rack-0, GPU 0 (worker): 12 MB of 40 GB.")
})
