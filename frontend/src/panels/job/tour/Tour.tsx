import { Button, CloseButton, Group, Paper, Text } from "@mantine/core"
import { useEffect, useId, useRef, type KeyboardEvent } from "react"
import { useSpotlight } from "@/hooks/tour/useTour"
import { STEPS } from "@/lib/tour/stops"
import classes from "./tour.module.css"

interface TourProps {
  step: number
  /** Null: the tour is over. */
  onGo: (step: number | null) => void
}

/** One step of the tour beside the panel that it is about. The page stays usable; Escape ends the tour. */
export function Tour({ step, onGo }: TourProps) {
  const { stop, title, text } = STEPS[step]!
  const id = useId()
  const card = useRef<HTMLDivElement>(null)
  useSpotlight(stop)
  useEffect(() => card.current?.focus({ preventScroll: true }), [step])
  const end = () => {
    onGo(null)
    document.getElementById("main")?.focus({ preventScroll: true })
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Escape") end()
  }
  const last = step === STEPS.length - 1
  return (
    <Paper ref={card} className={classes.card} role="dialog" aria-labelledby={`${id}-title`} aria-describedby={`${id}-text`} tabIndex={-1} onKeyDown={onKey} withBorder>
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Text fw={620} id={`${id}-title`}>
          {title}
        </Text>
        <CloseButton size="sm" aria-label="End the tour" onClick={end} />
      </Group>
      <Text size="sm" id={`${id}-text`}>
        {text}
      </Text>
      <Group justify="space-between" mt="sm">
        <Text size="xs" c="dimmed">
          {step + 1} of {STEPS.length}
        </Text>
        <Group gap="xs">
          {step > 0 && (
            <Button size="xs" variant="default" onClick={() => onGo(step - 1)}>
              Back
            </Button>
          )}
          <Button size="xs" onClick={() => (last ? end() : onGo(step + 1))}>
            {last ? "Done" : "Next"}
          </Button>
        </Group>
      </Group>
    </Paper>
  )
}
