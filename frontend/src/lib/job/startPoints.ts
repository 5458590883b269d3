import type { Artifact, Job, JobCheckpoint, JobFile } from "@/client"
import { formatBytes, formatCount } from "@/lib/format"
import { hasEnded } from "@/lib/status"

/** A model of a job that a new job can continue from. */
export interface StartPoint {
  title: string
  /** As `start_from.checkpoint` names it. */
  start: "final" | "best" | "last"
  /** False: the job does not have it, and the server would refuse it. */
  exists: boolean
  /** Which model it is, or why there is none. */
  about: string
}

interface Stored {
  artifacts: readonly Artifact[]
  checkpoints: readonly JobCheckpoint[]
  files: readonly JobFile[]
}

/** The layout of the model in checkpoints, under its name of now or of earlier versions. */
const LAYOUTS = ["tensors.safetensors", "tensors.pt"]

/** Without the layout of its model, a job cannot begin with a checkpoint. */
export function hasLayout(files: readonly JobFile[]): boolean {
  return files.some(({ path }) => LAYOUTS.includes(path))
}

/** All models that a new job could continue from. `stored`: undefined while the page does not know yet. */
export function startPoints(job: Job, stored: Stored | undefined, unknown: string): StartPoint[] {
  const point = (start: StartPoint["start"], title: string, find: (stored: Stored) => Found): StartPoint => ({
    start,
    title: `Continue from its ${title}`,
    ...(stored ? find(stored) : { exists: false, about: unknown }),
  })
  return [
    point("final", "final model", ({ artifacts }) => findFinal(job, artifacts)),
    ...(job.spec.best ? [point("best", "best model", ({ artifacts }) => findBest(job, artifacts))] : []),
    point("last", "last checkpoint", (found) => findLast(job, found)),
  ]
}

type Found = Pick<StartPoint, "exists" | "about">

function findFinal(job: Job, artifacts: readonly Artifact[]): Found {
  const model = findModel(artifacts, "model.safetensors")
  if (!model) return missing(hasEnded(job) ? "The job ended without one" : "The job stores it when training ends")
  const withRows = artifacts.some(({ name }) => name.startsWith("tables-"))
  return there(`${model.name}, ${formatBytes(model.size)}${withRows ? "; rows of tables without the state of their rule" : ""}`)
}

function findBest(job: Job, artifacts: readonly Artifact[]): Found {
  const model = findModel(artifacts, "best.safetensors")
  if (!model) return missing(hasEnded(job) ? "The job ended without one" : "The job stores it with an evaluation")
  return there(model.note ?? `${model.name}, ${formatBytes(model.size)}`)
}

/** The one file of a model, or the index of its parts, with the size of all of them. */
function findModel(artifacts: readonly Artifact[], file: string): Artifact | undefined {
  const index = artifacts.find(({ name }) => name === `${file}.index.json`)
  if (!index) return artifacts.find(({ name }) => name === file)
  const parts = artifacts.filter(({ name }) => name.startsWith(file.replace(".safetensors", "-")) && name.endsWith(".safetensors"))
  return { ...index, size: parts.reduce((sum, { size }) => sum + size, index.size) }
}

function findLast(job: Job, { checkpoints, files }: Stored): Found {
  const newest = checkpoints[0]
  if (!newest) return missing(hasEnded(job) ? "The job ended without one" : "The job has no checkpoint yet")
  if (!hasLayout(files)) return missing("Its first worker has not stored the layout of the model")
  const { attempt, number, last, samples } = newest
  return there(`${last ? "At the end" : `Checkpoint ${number}`} of attempt ${attempt}${samples === null ? "" : `, ${formatCount(samples)} samples`}`)
}

function there(about: string): Found {
  return { exists: true, about }
}

function missing(about: string): Found {
  return { exists: false, about }
}
