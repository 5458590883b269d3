import { Notification } from "@mantine/core"
import { IconAlertTriangle } from "@tabler/icons-react"
import type { ReactNode } from "react"
import classes from "./Notice.module.css"

interface NoticeProps {
  title: string
  /** Why, and what to do. */
  children: ReactNode
  onClose: () => void
}

/** Says that something did not work for which there is no place of its own on the page. Stays until it is closed. */
export function Notice({ title, children, onClose }: NoticeProps) {
  return (
    <Notification
      classNames={{ root: classes.notice, description: classes.why }} role="alert" color="red" withBorder icon={<IconAlertTriangle size={18} aria-hidden />}
      title={title} onClose={onClose} closeButtonProps={{ "aria-label": "Close" }}
    >
      {children}
    </Notification>
  )
}
