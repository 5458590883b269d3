import type { Plan } from "@/client"
import { formatBytes } from "@/lib/format"
import { gpusOf } from "@/lib/queue/gpus"

type Process = Plan["start"]["processes"][number]
type Memory = Plan["nodes"][number]

/** From so many on, a run of ranks is written by its ends. */
const RUN = 3

/** "server-0, worker-0 … worker-7 (GPUs 0 … 7), evaluator": processes of one machine. */
export function processesOf(processes: Process[]): string {
  const runs: Process[][] = []
  for (const each of processes) {
    const last = runs.at(-1)
    if (last && follows(last.at(-1)!, each)) last.push(each)
    else runs.push([each])
  }
  return runs.flatMap((run) => (run.length < RUN ? run.map(nameOf) : [nameOfRun(run[0]!, run.at(-1)!)])).join(", ")
}

function follows(before: Process, each: Process): boolean {
  const isNext = each.role === before.role && each.rank === before.rank + 1
  if (!isNext || each.gpus.length !== before.gpus.length) return false
  return each.gpus.length === 0 || (hasOneGpu(before) && hasOneGpu(each) && each.gpus[0] === before.gpus[0]! + 1)
}

function hasOneGpu({ gpus, gpu_share }: Process): boolean {
  return gpus.length === 1 && gpu_share === 1
}

function nameOf(process: Process): string {
  const gpus = gpusOf(process)
  return gpus === null ? process.label : `${process.label} (${gpus})`
}

function nameOfRun(first: Process, last: Process): string {
  return `${first.label} … ${last.label}${first.gpus.length === 0 ? "" : ` (GPUs ${first.gpus[0]} … ${last.gpus[0]})`}`
}

/** "rack-0, rack-1: 128 MB of 64 GB each. 16 GPUs of rack-0, rack-1 (worker): 12 MB of 80 GB each.": machines, and GPUs of one role, with the same amounts share a sentence. */
export function memoryOf(nodes: Memory[]): string {
  const alike = new Map<string, Memory[]>()
  for (const each of nodes) {
    const key = [each.role, each.needed, each.total].join()
    alike.set(key, [...(alike.get(key) ?? []), each])
  }
  return [...alike.values()].map(memoryOfAlike).join(" ")
}

function memoryOfAlike(alike: Memory[]): string {
  const { gpu, role, needed, total } = alike[0]!
  const machines = [...new Set(alike.map(({ node }) => node))].join(", ")
  const amounts = `${formatBytes(needed)} of ${formatBytes(total)}`
  if (gpu === null) return alike.length === 1 ? `${machines}: ${amounts}.` : `${machines}: ${amounts} each.`
  return alike.length === 1 ? `${machines}, GPU ${gpu} (${role}): ${amounts}.` : `${alike.length} GPUs of ${machines} (${role}): ${amounts} each.`
}
