// The baseline: a web view of WebKitGTK in C whose handlers copy the text out, and answer.
// usage: RawWebView COUNT URL
#if __has_include(<webkit2/webkit2.h>)
#include <gtk/gtk.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <webkit2/webkit2.h>

#include "page_counter.h"

static void take(JSCValue *value) {
    char *text = jsc_value_to_string(value);
    if (page_counter_take_text(text, strlen(text))) page_counter_print();
    g_free(text);
}

static void posted(WebKitUserContentManager *manager, WebKitJavascriptResult *result, void *unused) {
    take(webkit_javascript_result_get_js_value(result));
}

static gboolean asked(WebKitUserContentManager *manager, JSCValue *value, WebKitScriptMessageReply *reply, void *unused) {
    take(value);
    JSCValue *answer = jsc_value_new_from_json(jsc_value_get_context(value), "{\"total\":129900}");
    webkit_script_message_reply_return_value(reply, answer);
    g_object_unref(answer);
    return TRUE;
}

static void ended(WebKitWebView *view, WebKitWebProcessTerminationReason reason, void *unused) {
    fputs("the web process ended\n", stderr);
    exit(3);
}

// As the engine sets up its own, where that changes what a message costs.
static WebKitWebView *make_view(WebKitUserContentManager *manager) {
    WebKitWebsiteDataManager *data = webkit_website_data_manager_new_ephemeral();
    WebKitWebContext *context = webkit_web_context_new_with_website_data_manager(data);
    webkit_web_context_set_cache_model(context, WEBKIT_CACHE_MODEL_DOCUMENT_VIEWER);
    WebKitWebView *view = WEBKIT_WEB_VIEW(
        g_object_new(WEBKIT_TYPE_WEB_VIEW, "web-context", context, "user-content-manager", manager, NULL));
    WebKitSettings *settings = webkit_web_view_get_settings(view);
    webkit_settings_set_enable_page_cache(settings, FALSE);
    webkit_settings_set_hardware_acceleration_policy(settings, WEBKIT_HARDWARE_ACCELERATION_POLICY_NEVER);
    return view;
}

int main(int count, char **arguments) {
    if (count != 3) return 64;
    page_counter_begin(atol(arguments[1]));
    page_counter_end_with_input();
    if (!gtk_init_check(NULL, NULL)) {
        fputs("no display\n", stderr);
        return 2;
    }
    WebKitUserContentManager *manager = webkit_user_content_manager_new();
    webkit_user_content_manager_register_script_message_handler(manager, "post");
    webkit_user_content_manager_register_script_message_handler_with_reply(manager, "ask", NULL);
    g_signal_connect(manager, "script-message-received::post", G_CALLBACK(posted), NULL);
    g_signal_connect(manager, "script-message-with-reply-received::ask", G_CALLBACK(asked), NULL);
    WebKitWebView *view = make_view(manager);
    g_signal_connect(view, "web-process-terminated", G_CALLBACK(ended), NULL);
    GtkWidget *window = gtk_offscreen_window_new();
    gtk_container_add(GTK_CONTAINER(window), GTK_WIDGET(view));
    gtk_widget_set_size_request(GTK_WIDGET(view), 1024, 768);
    gtk_widget_show_all(window);
    webkit_web_view_load_uri(view, arguments[2]);
    gtk_main();
    return 0;
}
#else
#include <stdio.h>

int main(void) {
    fputs("libwebkit2gtk-4.1-dev was missing when this was built\n", stderr);
    return 2;
}
#endif
