import { IconClockPause, IconPlayerPlay } from "@tabler/icons-react"
import type { Plan } from "@/client"
import classes from "./PlanPanel.module.css"

type Start = Plan["start"]

/** `current`: the job could be submitted as it is. Which node would take which process; or why the job would wait, and at which place. */
export function PlannedStart({ start, current }: { start: Start; current: boolean }) {
  const Icon = start.now ? IconPlayerPlay : IconClockPause
  const nodes = [...new Set(start.processes.map(({ node }) => node))]
  return (
    <>
      <p className={classes.start} data-now={(start.now && current) || undefined}>
        <Icon size={16} aria-hidden />
        <span>
          {start.now ? start.message : `It would wait at place ${start.position} in the queue. ${start.message}`}
        </span>
      </p>
      {nodes.length > 0 && (
        <table className={classes.nodes}>
          <caption>{start.now ? "Planned placement of processes" : "Placement on idle machines"}</caption>
          <tbody>
            {nodes.map((node) => (
              <tr key={node}>
                <th scope="row">{node}</th>
                <td>{processesOf(start, node)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  )
}

/** "server-0, worker-0 … worker-7, evaluator": a run of ranks is written by its ends. */
function processesOf({ processes }: Start, node: string): string {
  const here = processes.filter((process) => process.node === node)
  const parts: string[] = []
  for (let at = 0; at < here.length; ) {
    const { role, rank, gpu, label } = here[at]!
    let end = at
    while (gpu === null && here[end + 1]?.role === role && here[end + 1]!.gpu === null && here[end + 1]!.rank === rank + end - at + 1) end++
    if (end - at >= 2) parts.push(`${label} … ${here[end]!.label}`)
    else for (const each of here.slice(at, end + 1)) parts.push(each.gpu === null ? each.label : `${each.label} (GPU ${each.gpu})`)
    at = end + 1
  }
  return parts.join(", ")
}
