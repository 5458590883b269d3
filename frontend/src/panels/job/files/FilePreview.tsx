import { Code, Modal } from "@mantine/core"
import { Loaded } from "@/components/messages/Loaded"
import { useFeed } from "@/hooks/job/useFeed"
import { useFileText } from "@/hooks/job/files/useFiles"
import { asPreview } from "@/lib/job/files/preview"

interface FilePreviewProps {
  /** A file of an attempt, or without one a file that the job leaves. */
  file: { attempt: number | null; path: string }
  onClose: () => void
}

/** A small text, as it is; JSON with line breaks. */
export function FilePreview({ file, onClose }: FilePreviewProps) {
  const id = useFeed((feed) => feed.job.id)
  const text = useFileText(id, file, true)
  return (
    <Modal opened onClose={onClose} title={file.path} size="xl" closeButtonProps={{ "aria-label": "Close" }}>
      <Loaded {...text}>
        <Code block tabIndex={0} aria-label={file.path}>
          {asPreview(file.path, text.data ?? "")}
        </Code>
      </Loaded>
    </Modal>
  )
}
