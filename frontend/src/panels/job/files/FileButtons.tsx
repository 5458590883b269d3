import { ActionIcon, Group } from "@mantine/core"
import { IconDownload, IconEye } from "@tabler/icons-react"

/** Looking at a file, where that makes sense, and fetching it. */
export function FileButtons({ name, url, onShow }: { name: string; url: string; onShow: (() => void) | null }) {
  return (
    <Group gap={4} justify="flex-end" wrap="nowrap">
      {onShow && (
        <ActionIcon variant="default" size={30} aria-label={`Show ${name}`} onClick={onShow}>
          <IconEye size={16} />
        </ActionIcon>
      )}
      <ActionIcon component="a" href={url} download variant="default" size={30} aria-label={`Download ${name}`}>
        <IconDownload size={16} />
      </ActionIcon>
    </Group>
  )
}
