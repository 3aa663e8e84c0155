// WebKitGTK 4.1 and the GLib it runs on, for Swift.
#include <glib-unix.h>
#include <gtk/gtk.h>
#include <webkit2/webkit2.h>

// g_object_new takes a variable number of arguments, and nothing else gives a view both its context and its manager.
static inline GtkWidget *signalbox_web_view_new(WebKitWebContext *context, WebKitUserContentManager *manager) {
    return GTK_WIDGET(g_object_new(
        WEBKIT_TYPE_WEB_VIEW, "web-context", context, "user-content-manager", manager, NULL));
}

// As above: whether pages of another site get another process can only be said when the context is made.
static inline WebKitWebContext *signalbox_web_context_new(WebKitWebsiteDataManager *data) {
    return WEBKIT_WEB_CONTEXT(g_object_new(
        WEBKIT_TYPE_WEB_CONTEXT, "website-data-manager", data, "process-swap-on-cross-site-navigation-enabled", TRUE,
        NULL));
}
