import { Paper, Typography } from "@mantine/core"
import { useEffect, type MouseEvent } from "react"
import { useLocation, useNavigate } from "react-router"
import classes from "./GuideText.module.css"

/** The text of a guide, which the build has made from the repository's own documents. */
export function GuideText({ html }: { html: string }) {
  const { hash } = useLocation()
  const follow = useLinksOfPage()
  useEffect(() => {
    if (hash) document.getElementById(decodeURIComponent(hash.slice(1)))?.scrollIntoView()
    else window.scrollTo(0, 0)
  }, [hash, html])
  return (
    <Paper component="article" withBorder maw={860} p={{ base: "sm", sm: "lg" }}>
      <Typography className={classes.text} onClick={follow} dangerouslySetInnerHTML={{ __html: html }} />
    </Paper>
  )
}

/** Follows a link to another guide without opening the page anew. */
function useLinksOfPage() {
  const navigate = useNavigate()
  return (event: MouseEvent) => {
    const link = (event.target as Element).closest("a")
    const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey
    if (!link || link.target || !isPlain) return
    event.preventDefault()
    void navigate(link.getAttribute("href")!)
  }
}
