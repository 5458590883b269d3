import { useQueryClient } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { jobsStreamUrl, type Job } from "@/client"
import { withChangedJob, type JobPages } from "@/lib/jobPages"
import { followStream, type Connection } from "@/lib/stream"

/** New jobs and changed statuses may move a job in or out of a filter: then the list is read again, at most this often. */
const REREAD_MS = 400

/** Keeps all lists of jobs as they are on the server. */
export function useJobsStream(): Connection {
  const client = useQueryClient()
  const [connection, setConnection] = useState<Connection>("connecting")
  useEffect(() => {
    let timer: number | undefined
    const statuses = new Map<string, string>()
    const reread = () => {
      timer ??= window.setTimeout(() => {
        timer = undefined
        void client.invalidateQueries({ queryKey: ["jobs"] })
      }, REREAD_MS)
    }
    const changed = (job: Job) => {
      client.setQueriesData<JobPages>({ queryKey: ["jobs"] }, (data) => data && withChangedJob(data, job))
      if (statuses.get(job.id) !== job.status) reread()
      statuses.set(job.id, job.status)
    }
    const stop = followStream({
      url: () => jobsStreamUrl,
      after: 0,
      events: ["job", "gone"],
      onMessage: ({ event, data }) => (event === "job" ? changed(data as Job) : reread()),
      onConnection: setConnection,
    })
    return () => {
      stop()
      window.clearTimeout(timer)
    }
  }, [client])
  return connection
}
