import { IconClockPause, IconPlayerPlay } from "@tabler/icons-react"
import type { Plan } from "@/client"
import { processesOf } from "@/lib/job-file/placement"
import classes from "./PlanPanel.module.css"

type Start = Plan["start"]

/** Machines in sight at a time; the list of more scrolls. */
const MANY = 6

/** `current`: the job could be submitted as it is. Which node would take which process; or why the job would wait, and at which place. */
export function PlannedStart({ start, current }: { start: Start; current: boolean }) {
  const Icon = start.now ? IconPlayerPlay : IconClockPause
  const nodes = [...new Set(start.processes.map(({ node }) => node))]
  const many = nodes.length > MANY
  return (
    <>
      <p className={classes.start} data-now={(start.now && current) || undefined}>
        <Icon size={16} aria-hidden />
        <span>
          {start.now ? start.message : `It would wait at place ${start.position} in the queue. ${start.message}`}
        </span>
      </p>
      {nodes.length > 0 && (
        <div className={many ? classes.many : undefined} tabIndex={many ? 0 : undefined}>
          <table className={classes.nodes}>
            <caption>{start.now ? "Planned placement of processes" : "Placement on idle machines"}</caption>
            <tbody>
              {nodes.map((node) => (
                <tr key={node}>
                  <th scope="row">{node}</th>
                  <td>{processesOf(start.processes.filter((process) => process.node === node))}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  )
}
