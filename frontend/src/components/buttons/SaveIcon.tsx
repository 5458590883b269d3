import { ActionIcon, Tooltip } from "@mantine/core"
import { IconDownload } from "@tabler/icons-react"
import { saveText } from "@/lib/browser/save"

export function SaveIcon({ text, name, what }: { text: string; name: string; what: string }) {
  return (
    <Tooltip label={`Download ${what}`}>
      <ActionIcon variant="subtle" color="gray" size="sm" c="dimmed" onClick={() => saveText(text, name)} aria-label={`Download ${what}`}>
        <IconDownload size={14} />
      </ActionIcon>
    </Tooltip>
  )
}
