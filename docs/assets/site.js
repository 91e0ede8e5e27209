// The theme puts wide tables into boxes that scroll: these are reached with the keyboard, too.
const reach = () => { for (const box of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) box.tabIndex = 0; };
new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
reach();
