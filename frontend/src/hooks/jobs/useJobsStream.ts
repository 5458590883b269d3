import { useQueryClient } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { jobsStreamUrl, type Gone, type JobSummary } from "@/client"
import { useSessionCheck } from "@/hooks/session/useSession"
import { jobNews } from "@/lib/jobs/jobNews"
import { withChangedJob, withoutJobs, type Change, type JobPages } from "@/lib/jobs/jobPages"
import { followStream, type Connection } from "@/lib/stream/stream"

/** Milliseconds between two counts of what has come: a busy platform changes many times a second. */
const TELL_MS = 400

/**
 * Keeps all lists of jobs as they are on the server, row by row. Rows do not come or move: whoever looks at the list would lose
 * their place. The page names new jobs, and reads the list again when its user wants. Only after a time in which nothing was heard it
 * is read again by itself, where it is, since the stream tells of what happened meanwhile to the newest jobs alone.
 */
export function useJobsStream(): { connection: Connection; changes: readonly Change[] } {
  const client = useQueryClient()
  const checkSession = useSessionCheck()
  const [connection, setConnection] = useState<Connection>("connecting")
  const [changes, setChanges] = useState<readonly Change[]>([])
  useEffect(() => {
    let timer: number | undefined
    const known = new Map<string, JobSummary["status"]>()
    const news = new Map<string, Change>()
    const tell = () => {
      timer ??= window.setTimeout(() => {
        timer = undefined
        setChanges([...news.values()])
        void client.invalidateQueries({ queryKey: ["job-counts"] })
      }, TELL_MS)
    }
    const changed = (job: JobSummary) => {
      jobNews.changed(job)
      client.setQueriesData<JobPages>({ queryKey: ["jobs"] }, (data) => data && withChangedJob(data, job))
      const before = known.get(job.id)
      known.set(job.id, job.status)
      if (before === job.status) return
      news.set(job.id, { job, before, heard: Date.now() })
      tell()
    }
    let upto: number | undefined
    const gone = ({ ids, upto: last }: Gone) => {
      upto = last
      if (ids.length === 0) return
      jobNews.deleted(ids)
      client.setQueriesData<JobPages>({ queryKey: ["jobs"] }, (data) => data && withoutJobs(data, new Set(ids)))
      for (const id of ids) news.delete(id)
      tell()
    }
    let lost = false
    const connected = (now: Connection) => {
      setConnection(now)
      if (now === "live" && lost) {
        void client.invalidateQueries({ queryKey: ["jobs"] })
        void client.invalidateQueries({ queryKey: ["job-counts"] })
      }
      lost = now === "reconnecting"
      if (lost) checkSession()
    }
    const stop = followStream({
      url: () => jobsStreamUrl(upto),
      after: 0,
      events: ["job", "gone"],
      onMessage: ({ event, data }) => (event === "job" ? changed(data as JobSummary) : gone(data as Gone)),
      onConnection: connected,
    })
    return () => {
      stop()
      window.clearTimeout(timer)
    }
  }, [client, checkSession])
  return { connection, changes }
}
