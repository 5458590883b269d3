import { Anchor, CloseButton } from "@mantine/core"
import { useState } from "react"
import { useFeed } from "@/hooks/job/useFeed"
import { useTour } from "@/hooks/tour/useTour"
import { tourSeen } from "@/lib/tour/seen"
import { STEPS } from "@/lib/tour/stops"
import classes from "./tour.module.css"

/** Offers the tour until this browser has taken or declined it; the menu *Help* has it afterwards. */
export function TourInvite() {
  const [step, go] = useTour(useFeed((feed) => feed.job.id))
  const [seen, setSeen] = useState(tourSeen.noted)
  if (seen || step !== null) return null
  const decline = () => {
    tourSeen.note()
    setSeen(true)
  }
  return (
    <div className={classes.invite}>
      <span>New here? {STEPS.length} stops show how to read this page.</span>
      <Anchor component="button" inherit underline="always" onClick={() => go(0)}>
        Start the tour
      </Anchor>
      <CloseButton size="sm" aria-label="No tour" onClick={decline} />
    </div>
  )
}
