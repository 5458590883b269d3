import { Switch } from "@mantine/core"
import { Panel } from "@/components/page/Panel"
import { useLetterKeys } from "@/hooks/useKeys"

export function KeysPanel() {
  const [letters, setLetters] = useLetterKeys()
  return (
    <Panel title="Keyboard" subtitle="Stored in this browser">
      <Switch
        label="Single-key shortcuts"
        description="j, k, / and others; ? lists them. Switch them off if you dictate or press keys by mistake. Arrows, Enter and Space keep working."
        checked={letters}
        onChange={(event) => setLetters(event.currentTarget.checked)}
      />
    </Panel>
  )
}
