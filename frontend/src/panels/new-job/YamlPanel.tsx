import { Button, FileButton, Textarea } from "@mantine/core"
import { IconFileText } from "@tabler/icons-react"
import { CopyIcon } from "@/components/CopyIcon"
import { Panel } from "@/components/Panel"
import type { Draft } from "@/lib/draft"

export function YamlPanel({ draft, onText }: { draft: Draft; onText: (text: string) => void }) {
  return (
    <Panel
      title="Job file"
      subtitle="The same as YAML, for gradstream submit and for version control"
      actions={
        <>
          <CopyIcon value={draft.text} what="the job file" />
          <FileButton onChange={(file) => file && void file.text().then(onText)} accept=".yaml,.yml" inputProps={{ "aria-label": "A job file" }}>
            {(props) => (
              <Button {...props} size="xs" variant="default" leftSection={<IconFileText size={14} />}>
                Open
              </Button>
            )}
          </FileButton>
        </>
      }
    >
      <Textarea
        aria-label="Job file as YAML"
        value={draft.text}
        onChange={(event) => onText(event.currentTarget.value)}
        error={draft.error}
        autosize
        minRows={12}
        maxRows={26}
        spellCheck={false}
        styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)", fontSize: 13, lineHeight: 1.55 } }}
      />
    </Panel>
  )
}
