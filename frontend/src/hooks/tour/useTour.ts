import { useEffect } from "react"
import { useLocation, useNavigate } from "react-router"
import { api, body } from "@/client"
import { tourSeen } from "@/lib/tour/seen"
import { stepOf, STEPS, type TourStop } from "@/lib/tour/stops"

const PARAMETER = "tour"
const ATTRIBUTE = "data-toured"
/** Milliseconds between two looks at the place of a panel, and how many of them. */
const EVERY_MS = 100
const LOOKS = 100
/** Signs of a reader who scrolls. */
const SCROLLING = ["wheel", "touchmove", "pointerdown"] as const

/** The step of the tour that the address names, and a way to another one; null ends the tour. */
export function useTour(jobId: string): [number | null, (step: number | null) => void] {
  const { pathname, search } = useLocation()
  const navigate = useNavigate()
  const go = (step: number | null) => {
    tourSeen.note()
    const params = new URLSearchParams(window.location.search)
    const to = step === null ? undefined : STEPS[step]
    if (to) params.set(PARAMETER, to.stop)
    else params.delete(PARAMETER)
    void navigate({ pathname: to ? `/jobs/${jobId}${to.tab && `/${to.tab}`}` : pathname, search: params.toString() }, { replace: true, preventScrollReset: true })
  }
  return [stepOf(new URLSearchParams(search).get(PARAMETER)), go]
}

/** Goes to the first step of the tour: on the job that is open, else on the newest one. Without any job there is only a form for one. */
export function useBeginTour(): () => Promise<void> {
  const { pathname } = useLocation()
  const navigate = useNavigate()
  return async () => {
    const opened = /^\/jobs\/([0-9a-f-]{36})/.exec(pathname)?.[1]
    const id = opened ?? (await body(api.GET("/api/v1/jobs", { params: { query: { limit: 1 } } }))).items[0]?.id
    await navigate(id ? `/jobs/${id}?${PARAMETER}=${STEPS[0]!.stop}` : "/jobs/new")
  }
}

/** Brings the panel of a step into sight and marks it, once it is there; again while charts above it still come, unless the reader scrolls. */
export function useSpotlight(stop: TourStop): void {
  useEffect(() => {
    let [panel, place, left]: [Element | null, number | null, number] = [null, null, LOOKS]
    const look = () => {
      if (left-- === 0) leave()
      panel ??= document.querySelector(`[data-tour="${stop}"]`)
      if (!panel || panel.getBoundingClientRect().top === place) return
      panel.setAttribute(ATTRIBUTE, "")
      panel.scrollIntoView({ block: "start" })
      place = panel.getBoundingClientRect().top
    }
    const timer = window.setInterval(look, EVERY_MS)
    const leave = () => window.clearInterval(timer)
    for (const event of SCROLLING) window.addEventListener(event, leave, { once: true, passive: true })
    return () => {
      leave()
      for (const event of SCROLLING) window.removeEventListener(event, leave)
      panel?.removeAttribute(ATTRIBUTE)
    }
  }, [stop])
}
