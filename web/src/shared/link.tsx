import { Anchor, Button, NavLink, type AnchorProps, type ButtonProps, type NavLinkProps } from '@mantine/core'
import { createLink } from '@tanstack/react-router'
import type { AnchorHTMLAttributes, Ref } from 'react'

type Native<Props> = Props &
  Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof Props> & { ref?: Ref<HTMLAnchorElement> }

/** The library's link and button, led by the router. */
export const Link = createLink((props: Native<AnchorProps>) => <Anchor inherit={props.size === undefined} {...props} />)

export const ButtonLink = createLink((props: Native<ButtonProps>) => <Button component="a" {...props} />)

/** An entry of the menu; shows whether its page is open. */
export const MenuLink = createLink((props: Native<NavLinkProps> & { 'data-status'?: string }) => (
  <NavLink component="a" mb={2} {...props} active={props['data-status'] === 'active'} />
))
