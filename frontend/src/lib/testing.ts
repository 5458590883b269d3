/** Plausible objects for tests, each with what the test is about laid over them. */
import type { Exchange, Job, JobEvent, LogChunk, Process } from "@/client"
import type { LiveEvent } from "./stream/live"

export function makeJob(over: Partial<Job> = {}): Job {
  return {
    id: "11111111-1111-1111-1111-111111111111", name: "digits-adag", tags: [], note: "", archived: false, status: "running", reason: null, message: null, position: null,
    seq: 1, spec: { name: "digits-adag", stop: {} } as Job["spec"], bundle: null, strategy: "adag", gate: "asp", shards: 1, priority: 50, workers: 2,
    created_at: "2026-01-10T12:00:00Z", started_at: "2026-01-10T12:00:02Z", ended_at: null, attempt: 1, retries_used: 0, user: "ada",
    progress: {
      samples: 0, total_samples: 1000, version: 0, samples_per_second: null, loss: null, mean_staleness: null, eval: {}, alerts: [],
      first_step_at: null,
    },
    ...over,
  }
}

export function makeExchange(over: Partial<Exchange> = {}): Exchange {
  return { pushes: 40, compute: 0.012, data: 0.003, send: 0.001, wait: 0.004, sent_bytes: 0, raw_bytes: 0, received_bytes: 0, error: null, ...over }
}

export function makeEvent(seq: number, over: Partial<JobEvent> = {}): JobEvent {
  return { seq, time: "2026-01-10T12:00:00Z", kind: "status", actor: "controller", message: `event ${seq}`, data: {}, ...over }
}

export function makeProcess(over: Partial<Process> = {}): Process {
  return {
    id: "worker-0", seq: 1, attempt: 1, role: "worker", rank: 0, incarnation: 0, node: "node-1", gpus: [], gpu_share: 1, status: "running",
    exit_code: null, reason: null, message: null, started_at: "2026-01-10T12:00:02Z", ended_at: null, label: "worker-0", ...over,
  }
}

export function makeLog(seq: number, over: Partial<LogChunk> = {}): LogChunk {
  return { seq, process_id: "worker-0", label: "worker-0", attempt: 1, offset: 0, time: "2026-01-10T12:00:00Z", text: `line ${seq}\n`, ...over }
}

/** One point of the loss of worker 0, as a tick of the stream. */
export function makeTick(seq: number, over: Partial<LiveEvent["series"][number]> = {}): LiveEvent {
  const one = { attempt: 1, source: "worker-0", rank: 0, name: "train/loss", total: 1, count: 1, sum: 2.3, odd: 0, points: [[1, 32, 1, 1000, 2.3] as const], ...over }
  return { seq, series: [one] }
}
