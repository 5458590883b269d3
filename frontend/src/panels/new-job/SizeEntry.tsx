import { Button, Collapse, Group, NumberInput, UnstyledButton } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import { useState } from "react"
import type { ModelSize, Plan } from "@/client"
import classes from "./PlanPanel.module.css"

interface SizeEntryProps {
  known: Plan["size"]
  given: ModelSize | null
  onSize: (size: ModelSize | null) => void
}

/** How large the model is, for a plan of one that was not measured yet. */
export function SizeEntry({ known, given, onSize }: SizeEntryProps) {
  const [open, { toggle }] = useDisclosure(false)
  const [parameters, setParameters] = useState<number | string>("")
  const [milliseconds, setMilliseconds] = useState<number | string>("")
  const plan = () => onSize({ parameters: Number(parameters), step: milliseconds === "" ? null : Number(milliseconds) / 1000 })
  return (
    <div>
      <UnstyledButton className={classes.toggle} onClick={toggle} aria-expanded={open}>
        {known ? "Plan with another size" : "Enter the model size"}
      </UnstyledButton>
      <Collapse expanded={open}>
        <Group gap="sm" align="flex-end" mt={6}>
          <NumberInput label="Parameters" w={150} value={parameters} onChange={setParameters} min={1} max={1e12} allowDecimal={false} thousandSeparator="," hideControls />
          <NumberInput label="Time of a mini-batch (ms)" w={170} value={milliseconds} onChange={setMilliseconds} min={0} hideControls />
          <Button variant="default" onClick={plan} disabled={Number(parameters) < 1 || (milliseconds !== "" && Number(milliseconds) <= 0)}>
            Plan with it
          </Button>
          {given && (
            <Button variant="subtle" onClick={() => onSize(null)}>
              As measured
            </Button>
          )}
        </Group>
      </Collapse>
    </div>
  )
}
